#include "core/budget.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "core/core.h"
#include "device/backend.h"

#define LAUNCHES_BETWEEN_LOOKS 64
#define BETWEEN_LOOKS_NS 100000000u /* the driver may need some 100 us to answer */

static uint64_t charged_bytes(const struct sl_budget *budget)
{
    int64_t charged = atomic_load_explicit(&budget->charged_bytes, memory_order_relaxed);
    return charged > 0 ? (uint64_t)charged : 0;
}

uint64_t sl_budget_lost(const struct sl_budget *budget)
{
    uint64_t lost = atomic_load_explicit(&budget->watch.lost_bytes, memory_order_relaxed);
    uint64_t part = atomic_load_explicit(&budget->part_bytes, memory_order_relaxed);
    return part && part < budget->bytes - lost ? budget->bytes - part : lost;
}

uint64_t sl_budget_bytes(const struct sl_budget *budget)
{
    uint64_t taken = charged_bytes(budget), left = budget->bytes - sl_budget_lost(budget);
    return left > taken + SL_LEAST_BUDGET ? left - taken : SL_LEAST_BUDGET;
}

void sl_budget_say_exceeded(const struct sl_budget *budget)
{
    char passed[SL_BYTES_TEXT], limit[SL_BYTES_TEXT];
    uint64_t taken = charged_bytes(budget), moving = sl_arena_moving_bytes(&budget->core->arena);
    uint64_t chunks = moving < SL_LEAST_BUDGET ? moving : SL_LEAST_BUDGET;
    if (taken + chunks <= budget->bytes || budget->core->policy->memory != SL_MEMORY_MOVED) return;
    sl_warn_once("the program takes %s of the device past sluice (managed memory of its own, memory that it "
                 "shares, of graphs, pools or arrays): the budget of %s is exceeded",
                 sl_bytes_text(taken, passed), sl_bytes_text(budget->bytes, limit));
}

const char *sl_budget_remedy(const struct sl_budget *budget, uint64_t own_bytes, char out[SL_BUDGET_REMEDY])
{
    uint64_t there = budget->watch.free_at_start - atomic_load(&budget->watch.lost_bytes);
    uint64_t mib = (own_bytes + charged_bytes(budget) + SL_MIB - 1) / SL_MIB;
    if (mib * SL_MIB > there)
        snprintf(out, SL_BUDGET_REMEDY, "the device has not so much: smaller batches or tensors let it fit");
    else
        snprintf(out, SL_BUDGET_REMEDY,
                 "SLUICE_DEVICE_BUDGET=%" PRIu64 "M (sluice run --budget %" PRIu64 "M) lets it fit", mib,
                 mib);
    return out;
}

void sl_budget_charge(struct sl_budget *budget, int64_t bytes)
{
    atomic_fetch_add(&budget->charged_bytes, bytes);
    if (bytes > 0) sl_budget_say_exceeded(budget);
}

/* The free memory less 5 %, or less 512 MiB if that is more. On a device too small for that, less 5 %. */
uint64_t sl_budget_automatic(uint64_t free_bytes)
{
    uint64_t reserve = free_bytes / 20 > 512 * SL_MIB ? free_bytes / 20 : 512 * SL_MIB;
    if (free_bytes < 2 * reserve) reserve = free_bytes / 20;
    return (free_bytes - reserve) & ~(SL_BLOCK_BYTES - 1);
}

void sl_budget_decide(struct sl_budget *budget, uint64_t free_bytes, uint64_t given_bytes,
                      uint64_t wanted_bytes)
{
    char text[SL_BYTES_TEXT], free_text[SL_BYTES_TEXT];
    uint64_t given = given_bytes ? given_bytes : wanted_bytes;
    sl_bytes_text(given, text), sl_bytes_text(free_bytes, free_text);
    budget->watch.free_at_start = free_bytes;
    budget->bytes = given ? given : sl_budget_automatic(free_bytes);
    budget->automatic = !given;
    if (budget->core->policy->memory == SL_MEMORY_PAGED) {
        if (given_bytes && given_bytes < free_bytes)
            sl_log(SL_LOG_WARN,
                   "a budget of %s cannot be held by the policy driver: the driver fills the %s that "
                   "are free",
                   text, free_text);
        budget->bytes = free_bytes;
    } else if (budget->core->policy->memory == SL_MEMORY_MOVED && budget->bytes > free_bytes) {
        sl_log(SL_LOG_WARN, "a budget of %s is more than the device has free: it is %s", text, free_text);
        budget->bytes = free_bytes & ~(SL_BLOCK_BYTES - 1);
    }
    if (budget->bytes < SL_LEAST_BUDGET) {
        sl_log(SL_LOG_WARN,
               "the device has %s free, too little for the least budget that sluice can keep: the budget is "
               "8 MiB all the same",
               free_text);
        budget->bytes = SL_LEAST_BUDGET;
        budget->automatic = false;
    }
    SL_CHECK_ALL(sl_budget_is_valid(budget));
}

uint64_t sl_budget_chunk(uint64_t budget_bytes)
{
    uint64_t chunk = SL_BLOCK_BYTES;
    while (chunk < 32 * SL_MIB && chunk * 256 <= budget_bytes) chunk *= 2;
    return chunk;
}

bool sl_budget_is_valid(const struct sl_budget *budget)
{
    uint64_t free_bytes = budget->watch.free_at_start;
    uint64_t most = free_bytes > SL_LEAST_BUDGET ? free_bytes : SL_LEAST_BUDGET;
    return SL_HOLDS(budget->bytes >= SL_LEAST_BUDGET) &&
           SL_HOLDS(budget->core->policy->memory != SL_MEMORY_MOVED || budget->bytes <= most) &&
           SL_HOLDS(atomic_load(&budget->watch.lost_bytes) <= budget->bytes - SL_LEAST_BUDGET);
}

uint64_t sl_budget_beside(uint64_t budget_bytes, uint64_t free_bytes, uint64_t taken_bytes)
{
    uint64_t left = free_bytes > taken_bytes ? free_bytes - taken_bytes : 0;
    if (budget_bytes <= left) return budget_bytes;
    uint64_t budget = sl_budget_automatic(left);
    return budget > SL_LEAST_BUDGET ? budget : SL_LEAST_BUDGET;
}

/* The bytes that others took for sure: bytes free at the start that are neither free now, nor charged, nor
 * ours. Everything that ever came to the device counts as ours, because the driver may keep frames of evicted
 * chunks for reuse. Precondition: the order lock is held. */
static uint64_t taken_by_others(const struct sl_budget *budget, uint64_t free_bytes)
{
    const struct sl_stats *stats = &budget->core->stats;
    uint64_t came = sl_stats_bytes(stats->total.bytes_in) + atomic_load(&stats->populated_bytes);
    uint64_t most = sl_arena_touched_bytes(&budget->core->arena);
    uint64_t known = sl_least(came, most) + charged_bytes(budget);
    uint64_t start = budget->watch.free_at_start, gone = start > free_bytes ? start - free_bytes : 0;
    return gone > known ? gone - known : 0;
}

/* Whether the budget shrank. Precondition: the order lock is held. */
static bool lose(struct sl_budget *budget, uint64_t taken_bytes)
{
    char taken[SL_BYTES_TEXT], now[SL_BYTES_TEXT];
    uint64_t left = sl_budget_beside(budget->bytes, budget->watch.free_at_start, taken_bytes);
    if (budget->bytes - left <= atomic_load(&budget->watch.lost_bytes)) return false;
    atomic_store(&budget->watch.lost_bytes, budget->bytes - left);
    SL_CHECK_ALL(sl_budget_is_valid(budget));
    sl_warn_once("others took %s of the device since the start: the budget is %s from now on",
                 sl_bytes_text(taken_bytes, taken), sl_bytes_text(left, now));
    return true;
}

bool sl_budget_is_short(const struct sl_budget *budget)
{
    return sl_arena_moving_bytes(&budget->core->arena) > sl_budget_bytes(budget);
}

/* True also if charged memory made memory short. */
static bool look(struct sl_budget *budget)
{
    struct sl_budget_watch *watch = &budget->watch;
    const struct sl_backend *backend = &budget->core->backend;
    uint64_t free_bytes, total_bytes;
    watch->refused = backend->memory_info(backend->self, &free_bytes, &total_bytes) != SL_OK;
    if (watch->refused) return false;
    struct sl_device_users users = sl_device_share_look(budget->core);
    sl_lock(&budget->core->order);
    uint64_t taken = taken_by_others(budget, free_bytes);
    bool is_less = sl_device_share_take_in(budget->core, &users, taken);
    taken -= sl_least(taken, budget->core->share.others_bytes);
    uint64_t sure = sl_least(taken, watch->taken_before);
    watch->taken_before = taken;
    is_less |= lose(budget, sure);
    bool gives_way = (is_less || !budget->pressure) && sl_budget_is_short(budget);
    sl_unlock(&budget->core->order);
    return gives_way;
}

/* Returns whether it is time to look again, and counts that as a look. Precondition: no other thread runs
 * look(). */
static bool begin_look(struct sl_budget_watch *watch, sl_tick tick)
{
    uint64_t now = sl_clock_ns(CLOCK_MONOTONIC);
    if (watch->looked_at_ns && now < watch->looked_at_ns + BETWEEN_LOOKS_NS) return false;
    atomic_store_explicit(&watch->looked_at, tick, memory_order_relaxed);
    watch->looked_at_ns = now;
    return true;
}

bool sl_budget_look(struct sl_budget *budget, bool now)
{
    struct sl_budget_watch *watch = &budget->watch;
    bool gives_way = false;
    sl_tick tick = atomic_load_explicit(&budget->core->stats.tick, memory_order_relaxed);
    sl_tick last = atomic_load_explicit(&watch->looked_at, memory_order_relaxed);
    if (!now && tick < last + LAUNCHES_BETWEEN_LOOKS) return false;
    if (budget->core->policy->memory != SL_MEMORY_MOVED || atomic_exchange(&watch->looking, true))
        return false;
    if (!watch->refused && !atomic_load(&budget->core->streams.captures) && (now || begin_look(watch, tick)))
        gives_way = look(budget);
    atomic_store(&watch->looking, false);
    return gives_way;
}
