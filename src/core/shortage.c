#include "core/shortage.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/text.h"
#include "core/core.h"

#define MOST_LINES 4

void sl_shortage_say_moving(struct sl_core *core)
{
    char need[SL_BYTES_TEXT], over[SL_BYTES_TEXT], text[SL_BYTES_TEXT], remedy[SL_BUDGET_REMEDY];
    uint64_t most = core->shortage.most_moving_bytes, budget = sl_budget_bytes(&core->budget);
    if (core->shortage.has_told || !core->budget.automatic || core->policy->memory != SL_MEMORY_MOVED ||
        most <= budget || !sl_stats_bytes(core->stats.total.bytes_out))
        return;
    core->shortage.has_told = true;
    sl_log(SL_LOG_WARN,
           "the program needs %s of device memory, %s more than its budget of %s: what does not fit moves to "
           "host "
           "memory and back, which takes time; %s",
           sl_bytes_text(most, need), sl_bytes_text(most - budget, over), sl_bytes_text(budget, text),
           sl_budget_remedy(&core->budget, most, remedy));
}

/* What the program has in host memory, or is promised. Caller holds the order lock. */
static uint64_t host_bytes(const struct sl_core *core)
{
    return sl_arena_host_bytes(&core->arena) + core->placement.promised_bytes;
}

/* Whether a line is due for `wanted` bytes together. Caller holds the order lock. */
static bool must_say(struct sl_shortage *shortage, uint64_t wanted)
{
    if (wanted <= shortage->most_told_bytes || shortage->lines == MOST_LINES) return false;
    shortage->most_told_bytes = wanted;
    shortage->lines++;
    return true;
}

void sl_shortage_say_failed(struct sl_core *core, uint64_t bytes)
{
    char site[SL_SITE_TEXT], size[SL_BYTES_TEXT], has[SL_BYTES_TEXT], limit[SL_BYTES_TEXT],
        suffices[SL_BYTES_TEXT], budget[SL_BYTES_TEXT];
    const char *by;
    sl_lock(&core->order);
    uint64_t live = core->placement.live_bytes, host = host_bytes(core), wanted = host + bytes;
    uint64_t own = core->budget.most_own_bytes, device = sl_budget_bytes(&core->budget);
    bool say = must_say(&core->shortage, wanted);
    sl_unlock(&core->order);
    if (!say) return;
    uint64_t most = sl_host_share_most(core->host.share, &by);
    wanted = (wanted + SL_BLOCK_BYTES - 1) & ~(SL_BLOCK_BYTES - 1);
    sl_log(SL_LOG_WARN,
           "no memory for %s, allocated by %s: the program has %s, and may have %s of host memory (%s). So "
           "far %s of "
           "host memory and a budget of %s would be enough: see \"When memory ends\" in docs/usage.md",
           sl_bytes_text(bytes, size), sl_site_text(site), sl_bytes_text(live, has),
           sl_bytes_text(most, limit), by, sl_bytes_text(wanted, suffices),
           sl_bytes_text(own > device ? own : device, budget));
}
