#include "core/device_share.h"

#include "base/log.h"
#include "base/text.h"
#include "core/core.h"

/* A process states what it holds at its looks, of which a new one has had none. */
enum { PATIENT_LOOKS = 20 };

/* Statements are as old as their processes' last looks. */
static bool is_missing(const struct sl_device_users *users, uint64_t missing_bytes)
{
    return users->held_bytes && missing_bytes >= users->held_bytes / 2;
}

static uint64_t id_of(const struct sl_core *core)
{
    struct sl_device_place at;
    const struct sl_backend *backend = &core->backend;
    bool known = !core->number && core->policy->memory == SL_MEMORY_MOVED && backend->place &&
                 backend->place(backend->self, &at);
    return known ? at.id : 0;
}

static struct sl_device_users state(struct sl_core *core, uint64_t held_bytes)
{
    struct sl_node_device own = {core->share.id, core->options->device_budget, held_bytes};
    return sl_host_share_on_device(core->host.share, &own);
}

/* An equal part of what no user's budget takes. */
static uint64_t equal_part(const struct sl_core *core, const struct sl_device_users *users)
{
    uint64_t base = core->share.base_bytes, own = core->options->device_budget;
    uint64_t count = users->sharing + !own, rest = base - sl_least(base, own);
    rest -= sl_least(rest, users->given_bytes);
    return count ? sl_budget_automatic(rest) / count & ~(SL_BLOCK_BYTES - 1) : 0;
}

/* Takes in who is on the device. What those who left held is still theirs until it is there again. Returns
 * whether this process's part became smaller. */
static bool divide(struct sl_core *core, const struct sl_device_users *users, uint64_t missing_bytes)
{
    uint64_t equal = equal_part(core, users), may = users->given_bytes + users->sharing * equal;
    bool shares = users->count && !core->options->device_budget;
    uint64_t now = shares ? sl_most(equal, SL_BLOCK_BYTES) : 0,
             before = atomic_load(&core->budget.part_bytes);
    core->share.count = users->count;
    core->share.others_bytes =
        users->count ? sl_most(may, users->held_bytes) : sl_least(core->share.others_bytes, missing_bytes);
    atomic_store(&core->budget.part_bytes, now);
    return now && (!before || now < before);
}

static void say(const struct sl_core *core)
{
    char budget[SL_BYTES_TEXT];
    uint32_t count = core->share.count;
    sl_bytes_text(sl_budget_bytes(&core->budget), budget);
    if (core->options->device_budget) return;
    if (count)
        sl_log(SL_LOG_WARN,
               "%u other program%s under sluice use%s this device: the budget is %s, an equal part of what "
               "no --budget "
               "takes",
               count, count > 1 ? "s" : "", count > 1 ? "" : "s", budget);
    else
        sl_log(SL_LOG_WARN, "no other program under sluice uses this device any more: the budget is %s",
               budget);
}

uint64_t sl_device_share_begin(struct sl_core *core, uint64_t free_bytes, uint64_t total_bytes)
{
    core->share.id = id_of(core);
    struct sl_device_users users = state(core, 0);
    uint64_t missing = total_bytes > free_bytes ? total_bytes - free_bytes : 0;
    bool shared = is_missing(&users, missing);
    core->share.base_bytes = free_bytes + (shared ? sl_least(users.held_bytes, missing) : 0);
    if (!shared) users = (struct sl_device_users){0};
    divide(core, &users, missing);
    return core->share.base_bytes;
}

void sl_device_share_begun(struct sl_core *core)
{
    if (core->share.count) say(core);
}

struct sl_device_users sl_device_share_look(struct sl_core *core)
{
    return state(core, atomic_load(&core->migrator.occupied_bytes));
}

bool sl_device_share_take_in(struct sl_core *core, const struct sl_device_users *users,
                             uint64_t missing_bytes)
{
    static const struct sl_device_users nobody;
    struct sl_device_share *share = &core->share;
    uint32_t count = share->count;
    bool counts = users->count && (count || is_missing(users, missing_bytes));
    bool less = divide(core, counts ? users : &nobody, missing_bytes);
    bool silent = users->count && !counts && !users->held_bytes;
    share->silent_looks = silent ? share->silent_looks + 1 : 0;
    if (silent) share->others_bytes = share->silent_looks <= PATIENT_LOOKS ? missing_bytes : 0;
    if (share->count != count) say(core);
    return less;
}
