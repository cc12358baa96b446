#include "core/host_share.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/text.h"
#include "core/host_pages.h"
#include "node/shares.h"
#include "node/topology.h"

#define AHEAD_MOST (256 * SL_MIB) /* the most that is claimed ahead of need; */
#define AHEAD_PART 64             /* at most this part of the total */
#define ATTEMPTS 8                /* of a claim, while others claim as well */
#define SETTLING 4                /* checks of a first promise, while others claim */
#define LOOK_PART 8               /* of the room, which is used before another look */
#define BETWEEN_LOOKS_NS 100000000u

/* The statements on the page. Not on the stack: the calling thread is the program's, whose stack may be
 * small. */
struct question {
    char path[SL_NODE_PATH];
    uint32_t count;
    struct sl_node_entry others[SL_NODE_SLOTS];
};

/* NULL: out of memory. */
static struct question *question_new(const struct sl_options *options)
{
    struct question *question = malloc(sizeof(*question));
    if (!question) return NULL;
    question->count = 0;
    sl_node_path(options->node, question->path);
    return question;
}

/* The bytes for all processes of the pool, including `others`. UINT64_MAX: unknown. */
static uint64_t total_of(const struct sl_options *options, const struct sl_host_memory *host,
                         const struct sl_node_entry *others, uint32_t count)
{
    if (options->node_limit) return options->node_limit;
    uint64_t reserve = sl_host_memory_reserve(host, options->host_reserve);
    uint64_t available = sl_host_memory_limit(host, reserve);
    return available == UINT64_MAX
               ? available
               : sl_shares_total(others, count, sl_host_memory_limited_by(host), available);
}

/* The part of `total_bytes` that this process may have. */
static uint64_t part_of(const struct sl_node_entry *others, uint32_t count, uint64_t pool,
                        uint64_t total_bytes)
{
    const struct sl_launcher *launcher = sl_launcher();
    if (total_bytes == UINT64_MAX) return total_bytes;
    if (launcher->local_size)
        return sl_shares_fair(others, count,
                              &(struct sl_node_entry){.pool = pool,
                                                      .job = launcher->job,
                                                      .size = launcher->local_size,
                                                      .rank = launcher->local_rank},
                              total_bytes);
    uint64_t promised = sl_shares_kept(others, count, pool, 0);
    return total_bytes > promised ? total_bytes - promised : 0;
}

uint64_t sl_host_share_foresee(const struct sl_options *options)
{
    struct sl_host_memory host;
    if (options->host_limit) return options->host_limit;
    struct question *question = question_new(options);
    const struct sl_node_entry *others = question ? question->others : NULL;
    if (question) sl_node_look(question->path, question->others, &question->count);
    uint32_t count = question ? question->count : 0;
    sl_host_memory_read("", &host);
    uint64_t total = total_of(options, &host, others, count);
    uint64_t part = part_of(others, count, sl_host_memory_limited_by(&host), total);
    free(question);
    return part;
}

const char *sl_host_share_why_nothing(const struct sl_options *options, char out[SL_HOST_SHARE_WHY])
{
    struct sl_host_memory host;
    char available[SL_BYTES_TEXT], reserve[SL_BYTES_TEXT];
    sl_host_memory_read("", &host);
    snprintf(out, SL_HOST_SHARE_WHY, "%s of the %s are free, and the reserve is %s (SLUICE_HOST_RESERVE)",
             sl_bytes_text(sl_host_memory_limit(&host, 0), available),
             sl_host_memory_limited_by(&host) ? "cgroup's limit" : "machine's memory",
             sl_bytes_text(sl_host_memory_reserve(&host, options->host_reserve), reserve));
    return out;
}

static uint64_t promised_to_others(struct sl_host_share *share, uint64_t job)
{
    struct sl_node_entry *others = malloc(SL_NODE_SLOTS * sizeof(*others));
    if (!others) return UINT64_MAX;
    uint64_t promised = sl_shares_kept(others, sl_node_others(&share->node, others), share->pool, job);
    free(others);
    return promised;
}

/* Lowers the promise if others claimed part of it before they saw it. */
static void settle_promise(struct sl_host_share *share, uint64_t job, uint64_t size)
{
    for (int i = 0; i < SETTLING; i++) {
        uint64_t promised = promised_to_others(share, job);
        uint64_t left = share->total_bytes > promised ? share->total_bytes - promised : 0;
        uint64_t fair = left / size & ~(SL_BLOCK_BYTES - 1);
        if (fair >= share->limit_bytes) return;
        share->limit_bytes = fair;
        sl_node_set(&share->node, SL_NODE_WORD(promised_bytes), &fair, 1);
    }
}

/* Precondition: registration is still open (before sl_node_settle). */
static void decide(struct sl_host_share *share, const struct sl_options *options,
                   const struct sl_node_entry *others, uint32_t count)
{
    const struct sl_launcher *launcher = sl_launcher();
    struct sl_host_memory host;
    sl_host_memory_read("", &host);
    share->pool = sl_host_memory_limited_by(&host);
    share->total_bytes = total_of(options, &host, others, count);
    share->kind = options->host_limit || share->total_bytes == UINT64_MAX ? SL_HOST_TOLD
                  : launcher->local_size                                  ? SL_HOST_PROMISED
                                                                          : SL_HOST_CLAIMED;
    share->limit_bytes =
        options->host_limit ? options->host_limit : part_of(others, count, share->pool, share->total_bytes);
    if (!sl_node_is_registered(&share->node) && share->kind == SL_HOST_CLAIMED)
        share->kind = SL_HOST_TOLD; /* alone */
    if (!sl_node_is_registered(&share->node)) return;
    bool promised = share->kind == SL_HOST_PROMISED;
    sl_node_say(&share->node, &(struct sl_node_entry){
                                  .process = (uint64_t)getpid(),
                                  .pool = share->pool,
                                  .job = promised ? launcher->job : 0,
                                  .size = launcher->local_size,
                                  .rank = launcher->local_rank,
                                  .total_bytes = share->kind == SL_HOST_TOLD ? 0 : share->total_bytes,
                                  .promised_bytes = promised ? share->limit_bytes : 0,
                                  .device = share->device,
                                  .link = share->link,
                              });
    if (promised) settle_promise(share, launcher->job, launcher->local_size);
}

static void say(const struct sl_host_share *share)
{
    char limit[SL_BYTES_TEXT], total[SL_BYTES_TEXT], why[SL_HOST_SHARE_WHY];
    if (share->limit_bytes < SL_BLOCK_BYTES)
        sl_log(SL_LOG_WARN, "no host memory is left for the program's data: %s",
               sl_host_share_why_nothing(share->options, why));
    sl_bytes_text(share->limit_bytes, limit);
    sl_bytes_text(share->total_bytes, total);
    if (share->kind == SL_HOST_PROMISED)
        sl_log(SL_LOG_INFO, "host memory: %s, an equal part of %s for each of %u ranks", limit, total,
               sl_launcher()->local_size);
    if (share->kind == SL_HOST_CLAIMED)
        sl_log(SL_LOG_DEBUG, "host memory: up to %s of %s, as far as others do not take it", limit, total);
}

static void find_device(struct sl_host_share *share, const struct sl_options *options,
                        const struct sl_backend *device)
{
    struct sl_device_place at;
    if (!device->place || !device->place(device->self, &at)) return;
    share->device = 1 + ((uint64_t)at.domain << 16 | (uint64_t)at.bus << 8 | at.device);
    share->link = sl_topology_link(sl_options_sysfs(options), at.domain, at.bus, at.device);
}

void sl_host_share_begin(struct sl_host_share *share, const struct sl_options *options,
                         const struct sl_backend *device)
{
    struct question *question = device->place ? question_new(options) : NULL;
    *share = (struct sl_host_share){
        .options = options, .node = {.file = -1, .pages = -1}, .watched = device->place != NULL};
    find_device(share, options, device);
    if (question && sl_node_join(question->path, &share->node) == SL_OK) {
        sl_node_bury(&share->node);
        question->count = sl_node_others(&share->node, question->others);
    }
    decide(share, options, question ? question->others : NULL, question ? question->count : 0);
    sl_node_settle(&share->node);
    free(question);
    share->first_limit_bytes = share->limit_bytes;
    share->first_total_bytes = share->total_bytes;
    say(share);
}

void sl_host_share_begin_lent(struct sl_host_share *share, const struct sl_host_share *first,
                              const struct sl_options *options, const struct sl_backend *device)
{
    *share = (struct sl_host_share){.options = options,
                                    .node = {.file = -1, .pages = -1},
                                    .kind = SL_HOST_LENT,
                                    .pool = first->pool,
                                    .total_bytes = first->total_bytes,
                                    .limit_bytes = first->limit_bytes};
    find_device(share, options, device);
}

static void set_claimed(struct sl_host_share *share, uint64_t bytes)
{
    share->claimed_bytes = bytes;
    share->placement->live_chunk_bytes_limit = bytes > share->lent_bytes ? bytes - share->lent_bytes : 0;
}

static inline uint64_t taken(const struct sl_host_share *share)
{
    uint64_t own = sl_arena_host_bytes(share->placement->arena) + share->placement->promised_bytes;
    return (share->left ? 0 : own) + share->lent_bytes;
}

static uint64_t ahead(const struct sl_host_share *share)
{
    uint64_t part = share->total_bytes / AHEAD_PART & ~(SL_BLOCK_BYTES - 1);
    return part < AHEAD_MOST ? part : AHEAD_MOST;
}

static inline bool claims_too_much(const struct sl_host_share *share, uint64_t now, uint64_t step)
{
    return share->kind == SL_HOST_CLAIMED && share->claimed_bytes > now + 2 * step;
}

/* A share that is told promises what it may take before its next statement. */
static __attribute__((noinline)) void state(struct sl_host_share *share, uint64_t now, uint64_t pinned)
{
    uint64_t step = ahead(share), words[] = {now + step, now, pinned};
    bool gives_back = claims_too_much(share, now, step), told = share->kind == SL_HOST_TOLD;
    if (gives_back) set_claimed(share, words[0]);
    if (told && words[0] > share->limit_bytes)
        words[0] = now > share->limit_bytes ? now : share->limit_bytes;
    share->taken_bytes = now;
    share->pinned_bytes = pinned;
    if (gives_back || told)
        sl_node_set(&share->node, SL_NODE_WORD(promised_bytes), words, 3);
    else
        sl_node_set(&share->node, SL_NODE_WORD(taken_bytes), words + 1, 2);
}

void sl_host_share_changed(struct sl_host_share *share)
{
    if (!sl_node_is_registered(&share->node) || !share->placement) return;
    uint64_t now = taken(share), pinned = share->placement->arena->pinned_bytes, step = ahead(share);
    bool stands = now <= share->taken_bytes + step && share->taken_bytes <= now + step;
    if (!stands || pinned != share->pinned_bytes || claims_too_much(share, now, step))
        state(share, now, pinned);
}

void sl_host_share_limit(struct sl_host_share *share, struct sl_placement *placement, uint64_t most_bytes)
{
    if (most_bytes < share->limit_bytes) share->limit_bytes = share->first_limit_bytes = most_bytes;
    share->looked_to_bytes = share->limit_bytes / LOOK_PART;
    share->placement = placement;
    placement->most_bytes = share->limit_bytes;
    bool by_and_by = share->kind == SL_HOST_CLAIMED || share->kind == SL_HOST_LENT;
    set_claimed(share, by_and_by ? taken(share) : share->limit_bytes);
    if (!sl_node_is_registered(&share->node)) return;
    if (share->kind == SL_HOST_CLAIMED)
        sl_node_set(&share->node, SL_NODE_WORD(promised_bytes), &share->claimed_bytes, 1);
    state(share, taken(share), placement->arena->pinned_bytes);
}

/* --- looks */

/* The share's part of what the pool has now; of a share that is claimed, claims find out what others leave.
 */
static uint64_t limit_of(const struct sl_host_share *share, const struct question *question)
{
    const struct sl_launcher *launcher = sl_launcher();
    if (share->kind != SL_HOST_PROMISED) return share->total_bytes;
    uint64_t kept = sl_shares_kept(question->others, question->count, share->pool, launcher->job);
    uint64_t left = share->total_bytes > kept ? share->total_bytes - kept : 0;
    return left / launcher->local_size & ~(SL_BLOCK_BYTES - 1);
}

static void lower_to(struct sl_host_share *share, uint64_t limit_bytes)
{
    share->limit_bytes = limit_bytes < share->first_limit_bytes ? limit_bytes : share->first_limit_bytes;
    if (share->kind != SL_HOST_CLAIMED || share->claimed_bytes > share->limit_bytes)
        set_claimed(share, share->limit_bytes);
}

/* `available_bytes`: there now, beside what this process's chunks have taken, `own_bytes`. */
static void lower(struct sl_host_share *share, uint64_t available_bytes, uint64_t own_bytes)
{
    struct question *question = question_new(share->options);
    if (!question) return;
    if (sl_node_is_registered(&share->node) && !share->options->host_limit)
        question->count = sl_node_others(&share->node, question->others);
    uint64_t total =
        sl_shares_total(question->others, question->count, share->pool, available_bytes + own_bytes);
    share->total_bytes = total < share->first_total_bytes ? total : share->first_total_bytes;
    lower_to(share, share->options->host_limit ? total : limit_of(share, question));
    free(question);
}

/* Others may use half of the reserve; page tables and the like need some of it. Chunks that have no host
 * pages yet must still get them. */
void sl_host_share_look(struct sl_host_share *share)
{
    struct sl_host_memory host;
    if (!share->watched || !share->placement) return;
    sl_host_memory_read("", &host);
    uint64_t half = sl_host_memory_reserve(&host, share->options->host_reserve) / 2;
    struct sl_host_pages pages = sl_host_pages(share->placement->arena);
    uint64_t own = pages.bytes, now = taken(share);
    uint64_t available = sl_host_memory_limit(&host, half), promised = now > own ? now - own : 0;
    if (available != UINT64_MAX) lower(share, available, own);
    uint64_t room = share->limit_bytes > now ? share->limit_bytes - now : 0;
    share->looked_to_bytes = now + (room / LOOK_PART > SL_BLOCK_BYTES ? room / LOOK_PART : SL_BLOCK_BYTES);
    share->pinnable_bytes = available > promised ? available - promised : 0;
    share->of_device |= pages.of_device;
    share->looked_at_ns = sl_clock_ns(CLOCK_MONOTONIC);
}

void sl_host_share_look_again(struct sl_host_share *share)
{
    if (sl_clock_ns(CLOCK_MONOTONIC) - share->looked_at_ns >= BETWEEN_LOOKS_NS) sl_host_share_look(share);
}

uint64_t sl_host_share_device_room(const struct sl_host_share *share)
{
    return share->of_device ? share->pinnable_bytes : UINT64_MAX;
}

bool sl_host_share_take_pinnable(struct sl_host_share *share, uint64_t bytes)
{
    if (!share->watched || !share->placement) return true;
    if (bytes > share->pinnable_bytes / LOOK_PART) sl_host_share_look(share);
    if (bytes > share->pinnable_bytes) return false;
    share->pinnable_bytes -= bytes;
    share->looked_to_bytes = 0;
    return true;
}

/* --- claims */

static bool claim(struct sl_host_share *share, uint64_t bytes, int attempts)
{
    for (int i = 0; i < attempts; i++) {
        if (i) sched_yield();
        sl_node_set(&share->node, SL_NODE_WORD(promised_bytes), &bytes, 1);
        uint64_t promised = promised_to_others(share, 0);
        if (promised <= share->total_bytes && bytes <= share->total_bytes - promised) {
            set_claimed(share, bytes);
            return true;
        }
        sl_node_set(&share->node, SL_NODE_WORD(promised_bytes), &share->claimed_bytes, 1);
    }
    return false;
}

/* Claims room for `bytes` bytes, rounded up to `unit`, and `more_bytes` ahead, but never beyond the limit. */
static bool claim_for(struct sl_host_share *share, uint64_t bytes, uint64_t unit, uint64_t more_bytes,
                      int attempts)
{
    uint64_t now = taken(share), left = share->limit_bytes > now ? share->limit_bytes - now : 0;
    if (bytes > left) return false;
    uint64_t needed = (bytes + unit - 1) / unit * unit + more_bytes;
    if (needed > left) needed = left;
    return now + needed > share->claimed_bytes && claim(share, now + needed, attempts);
}

void sl_host_share_prepare(struct sl_host_share *share, uint64_t bytes)
{
    if (share->watched && taken(share) + bytes > share->looked_to_bytes) {
        sl_host_share_look(share);
        share->looked_to_bytes += bytes;
    }
    if (share->kind != SL_HOST_CLAIMED || !sl_node_is_registered(&share->node) ||
        share->claimed_bytes == share->limit_bytes)
        return;
    uint64_t unit = share->placement->arena->chunk_bytes, now = taken(share);
    uint64_t room = share->claimed_bytes > now ? share->claimed_bytes - now : 0;
    if (bytes <= room && room - bytes >= unit) return;
    claim_for(share, bytes, unit, ahead(share), 1);
}

bool sl_host_share_more(struct sl_host_share *share, uint64_t bytes)
{
    uint64_t before = share->claimed_bytes;
    sl_host_share_look(share);
    if (share->claimed_bytes > before) return true;
    if (share->kind != SL_HOST_CLAIMED || !sl_node_is_registered(&share->node)) return false;
    uint64_t unit = share->placement->arena->chunk_bytes;
    sl_node_bury(&share->node);
    return claim_for(share, bytes, unit, ahead(share), 1) || claim_for(share, bytes, unit, 0, ATTEMPTS) ||
           claim_for(share, bytes, SL_BLOCK_BYTES, 0, ATTEMPTS);
}

bool sl_host_share_lend(struct sl_host_share *share, uint64_t bytes)
{
    uint64_t now = taken(share);
    if (share->watched && now + bytes > share->looked_to_bytes) sl_host_share_look(share);
    uint64_t room = share->claimed_bytes > now ? share->claimed_bytes - now : 0;
    if (bytes > room) {
        if (share->kind != SL_HOST_CLAIMED || !sl_node_is_registered(&share->node)) return false;
        sl_node_bury(&share->node);
        if (!claim_for(share, bytes, SL_BLOCK_BYTES, 0, ATTEMPTS)) return false;
        room = share->claimed_bytes - now;
        if (bytes > room) return false;
    }
    share->lent_bytes += bytes;
    set_claimed(share, share->claimed_bytes);
    sl_host_share_changed(share);
    return true;
}

void sl_host_share_take_back(struct sl_host_share *share, uint64_t bytes)
{
    if (!SL_CHECK(bytes <= share->lent_bytes)) bytes = share->lent_bytes;
    share->lent_bytes -= bytes;
    set_claimed(share, share->claimed_bytes);
    sl_host_share_changed(share);
}

void sl_host_share_borrowed(struct sl_host_share *share, uint64_t bytes)
{
    set_claimed(share, share->claimed_bytes + bytes);
}

uint64_t sl_host_share_spare(struct sl_host_share *share)
{
    uint64_t now = taken(share), spare = share->claimed_bytes > now ? share->claimed_bytes - now : 0;
    spare &= ~(SL_BLOCK_BYTES - 1);
    set_claimed(share, share->claimed_bytes - spare);
    return spare;
}

uint64_t sl_host_share_returned(struct sl_host_share *share)
{
    uint64_t all = share->claimed_bytes;
    set_claimed(share, 0);
    return all;
}

uint64_t sl_host_share_room(const struct sl_host_share *share)
{
    uint64_t most = share->kind == SL_HOST_LENT ? share->claimed_bytes : share->limit_bytes,
             now = taken(share);
    return most > now ? most - now : 0;
}

uint32_t sl_host_share_of_link(struct sl_host_share *share, uint64_t link)
{
    bool known = link && sl_node_is_registered(&share->node);
    return 1 + (known ? sl_node_count(&share->node, SL_NODE_WORD(link), link) : 0);
}

void sl_host_share_end(struct sl_host_share *share)
{
    sl_node_leave(&share->node);
}

void sl_host_share_after_fork(struct sl_host_share *share)
{
    sl_node_forget(&share->node);
}
