#include "core/core.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"

#define STEPS_TO_KEEP 8 /* a step measured by the device's clock is shown for so many more */

/* From the begin of a scan to the next: with what each slot adds, scans take less than 1 % of the time. */
#define BETWEEN_SCANS_NS 1000000000u
#define BETWEEN_SCANS_SLOT_NS 2000u

#define SET(member, value) atomic_store_explicit(&stats->member, (value), memory_order_relaxed)

static bool has_page;

/* --- what fills the budget */

void sl_scan_step(struct sl_scan *scan, uint64_t allocations, sl_tick tick)
{
    scan->allocations_before = scan->allocations_at_step;
    scan->allocations_at_step = allocations;
    scan->tick_before = scan->tick_at_step;
    scan->tick_at_step = tick;
    if (scan->steps < 2) scan->steps++;
}

static enum sl_kind kind_of(const struct sl_scan *scan, const struct sl_slot *slot,
                            const struct sl_chunk_record *chunk)
{
    if (chunk->pinned) return SL_KIND_PINNED;
    if (scan->steps < 2) return SL_KIND_UNKNOWN; /* no whole step has ended */
    if (slot->number > scan->allocations_before) return SL_KIND_TEMPORARY;
    sl_tick used = atomic_load_explicit(&chunk->last_use, memory_order_relaxed);
    return used > scan->tick_before ? SL_KIND_LASTING : SL_KIND_IDLE;
}

/* Adds `bytes` bytes that begin `at` bytes into the chunk. What exceeds a frame is not on the device. */
static void add(struct sl_kind_bytes *kind, const struct sl_migrator *migrator,
                const struct sl_chunk_record *chunk, uint64_t at, uint64_t bytes)
{
    int content = atomic_load(&chunk->content);
    uint64_t frame_bytes = atomic_load_explicit(&chunk->frame_bytes, memory_order_relaxed), framed = 0;
    if (sl_content_is_resident(content) && !chunk->pinned && frame_bytes > at)
        framed = frame_bytes - at < bytes ? frame_bytes - at : bytes;
    uint64_t fetch = atomic_load_explicit(&chunk->in_sequence, memory_order_relaxed);
    kind->allocated_bytes += bytes;
    kind->resident_bytes += framed;
    if (framed && !sl_link_direction_known_done(&migrator->in, fetch)) kind->arriving_bytes += framed;
    if (content == SL_CONTENT_DEAD && !chunk->pinned)
        kind->empty_bytes += bytes;
    else
        kind->host_bytes += bytes - framed;
}

/* Visits the slot's parts from scan->offset on, as long as *work is left. */
static void visit_slot(struct sl_scan *scan, const struct sl_core *core, const struct sl_slot *slot,
                       uint32_t *work)
{
    const struct sl_arena *arena = &core->arena;
    for (; *work >= SL_SCAN_PART && scan->offset < slot->bytes; *work -= SL_SCAN_PART) {
        uint64_t address = slot->address + scan->offset, at = address & (arena->chunk_bytes - 1);
        uint64_t bytes = slot->bytes - scan->offset;
        if (bytes > arena->chunk_bytes - at) bytes = arena->chunk_bytes - at;
        sl_chunk c = sl_arena_chunk(arena, address);
        if (c != SL_NONE) {
            const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
            add(&scan->kinds[kind_of(scan, slot, chunk)], &core->migrator, chunk, at, bytes);
        }
        scan->offset += bytes;
    }
}

/* Whether all slots were visited. A slot that got another allocation since a part of it was visited is left
 * out, like every allocation that is made behind the visit. */
static bool visit(struct sl_scan *scan, const struct sl_core *core)
{
    const struct sl_placement *placement = &core->placement;
    uint32_t work = SL_SCAN_WORK;
    for (; scan->slot < placement->slot_count; scan->slot++, scan->offset = 0) {
        const struct sl_slot *slot = &placement->slots[scan->slot];
        if (work < SL_SCAN_PART) return false;
        work--;
        if (!scan->offset) scan->number = slot->number;
        if (!slot->live || slot->number != scan->number) continue;
        visit_slot(scan, core, slot, &work);
        if (scan->offset < slot->bytes) return false;
    }
    return true;
}

void sl_scan_go_on(struct sl_scan *scan, const struct sl_core *core, bool due, uint64_t now_ns,
                   struct sl_stats *stats)
{
    if (!scan->goes_on) {
        if (!due || core->placement.noted) return;
        scan->goes_on = true;
        scan->slot = 0;
        scan->offset = 0;
        scan->begun_ns = now_ns;
        memset(scan->kinds, 0, sizeof(scan->kinds));
    }
    if (!visit(scan, core)) return;
    scan->goes_on = false;
    uint64_t resident = 0;
    for (int k = 0; k < SL_KINDS; k++) resident += scan->kinds[k].resident_bytes;
    memcpy(stats->kinds, scan->kinds, sizeof(stats->kinds));
    uint64_t occupied = atomic_load(&core->migrator.occupied_bytes);
    SET(unallocated_bytes, occupied > resident ? occupied - resident : 0);
    SET(scanned_ns, now_ns);
    SET(scan_time_ns, now_ns - scan->begun_ns);
}

/* Whether it is time to begin a scan; the next one is due later. */
static bool is_due(struct sl_core *core, uint64_t now_ns)
{
    if (core->monitor.scan.goes_on || now_ns < core->monitor.next_scan_ns) return false;
    core->monitor.next_scan_ns =
        now_ns + BETWEEN_SCANS_NS + core->placement.slot_count * BETWEEN_SCANS_SLOT_NS;
    return true;
}

/* --- all figures */

void sl_monitor_observe(struct sl_core *core)
{
    struct sl_stats *stats = &core->stats;
    const struct sl_placement *placement = &core->placement;
    struct sl_predictor_counts predictor = sl_history_counts(&core->history);
    int64_t charged = atomic_load(&core->budget.charged_bytes);
    SET(memory, core->policy->memory);
    SET(budget_bytes, core->budget.bytes);
    SET(budget_now_bytes, sl_budget_bytes(&core->budget));
    SET(taken_bytes, charged > 0 ? (uint64_t)charged : 0);
    SET(lost_bytes, sl_budget_lost(&core->budget));
    SET(occupied_bytes, atomic_load(&core->migrator.occupied_bytes));
    SET(chunk_bytes, core->arena.chunk_bytes);
    SET(chunks, core->arena.peak_chunks_used);
    SET(need_bytes, placement->peak_live_bytes);
    SET(live_bytes, placement->live_bytes);
    SET(placed_bytes, placement->peak_placed_bytes);
    SET(placed_live_bytes, placement->live_at_peak);
    SET(pinned_live_bytes, placement->pinned_live_bytes);
    SET(pinned_peak_bytes, placement->peak_pinned_live_bytes);
    SET(host_bytes, sl_arena_host_bytes(&core->arena));
    SET(host_limit_bytes, core->host.share->limit_bytes);
    SET(link_in_bytes_per_s, core->migrator.link_in_bytes_per_s);
    SET(link_out_bytes_per_s, core->migrator.link_out_bytes_per_s);
    SET(link_sharers, core->migrator.link_sharers);
    SET(link_alone_bytes_per_s, sl_migrator_link_alone(&core->migrator));
    SET(recent_ns, core->sampling.stalls.recent_ns);
    sl_words_copy(&stats->recent, &core->sampling.stalls.recent, sizeof(stats->recent));
    SET(fed, predictor.fed);
    SET(predicted, predictor.predicted);
    SET(primed, core->history.primed_symbols);
    SET(steps, core->history.iterations);
    SET(checks_failed, sl_checks_failed());
}

static enum sl_plan_state plan_state_of(const struct sl_core *core)
{
    const struct sl_planning *planning = &core->planning;
    if (!core->policy->plans) return SL_PLAN_STATE_NOT_MADE;
    if (!core->budget.pressure) return SL_PLAN_STATE_NOT_NEEDED;
    if (atomic_load(&core->schedule.active))
        return planning->astray_at ? SL_PLAN_STATE_DEVIATED : SL_PLAN_STATE_FOLLOWED;
    return planning->stage == SL_PLANNING_IDLE ? SL_PLAN_STATE_LEARNING : SL_PLAN_STATE_MAKING;
}

static void note_plan(struct sl_core *core, uint64_t now_ns)
{
    struct sl_stats *stats = &core->stats;
    uint64_t generation = atomic_load(&core->schedule.generation);
    bool active = atomic_load(&core->schedule.active);
    if (active && (generation != core->monitor.plan_generation || !stats->plan_taken_ns)) {
        core->monitor.plan_generation = generation;
        SET(plan_taken_ns, now_ns);
    }
    if (!active) SET(plan_taken_ns, 0);
    SET(plan_state, plan_state_of(core));
}

static void name_difference(struct sl_core *core)
{
    struct sl_monitor *monitor = &core->monitor;
    struct sl_stats *stats = &core->stats;
    if (!monitor->differs) return;
    monitor->differs = false;
    SET(mispredicted_ns, stats->updated_ns);
    sl_decision_names(&core->scanner, monitor->expected, monitor->came, stats->expected, stats->came,
                      sizeof(stats->came));
}

/* Precondition: the core is shown, and was observed. */
static void show(struct sl_core *core, uint64_t now_ns)
{
    struct sl_stats *stats = &core->stats;
    SET(updated_ns, now_ns);
    note_plan(core, now_ns);
    name_difference(core);
    sl_scan_go_on(&core->monitor.scan, core, is_due(core, now_ns), now_ns, stats);
    sl_monitor_page_write(core->number, stats);
}

void sl_monitor_update(struct sl_core *core)
{
    if (!core->monitor.shown) return;
    sl_monitor_observe(core);
    show(core, sl_clock_ns(CLOCK_MONOTONIC));
}

void sl_monitor_step(struct sl_core *core)
{
    struct sl_stats *stats = &core->stats;
    const struct sl_stalls *stalls = &core->sampling.stalls;
    uint64_t now_ns = sl_clock_ns(CLOCK_MONOTONIC);
    struct sl_counts total;
    sl_words_copy(&total, &stats->total, sizeof(total));
    sl_counts_since(&stats->step, &total, &core->monitor.at_step);
    core->monitor.at_step = total;
    SET(step_time_ns, stats->step_began_ns ? now_ns - stats->step_began_ns : 0);
    SET(step_began_ns, now_ns);
    bool fresh = stalls->steps - stalls->mark.step <= STEPS_TO_KEEP;
    SET(device_step_ns, fresh ? stalls->step_ns : 0);
    SET(device_stall_ns, fresh ? stalls->step_stall_ns : 0);
    sl_scan_step(&core->monitor.scan, core->placement.allocations, core->history.ticks.now);
    sl_monitor_observe(core);
    if (core->monitor.shown) show(core, now_ns);
}

void sl_monitor_mispredicted(struct sl_core *core, sl_symbol expected, sl_symbol came)
{
    struct sl_stats *stats = &core->stats;
    if (!core->monitor.shown) return;
    core->monitor.expected = expected;
    core->monitor.came = came;
    core->monitor.differs = true;
    SET(mispredicted_event, core->history.fed);
}

/* --- the page */

void sl_monitor_begin(struct sl_core *core)
{
    struct sl_stats *stats = &core->stats;
    snprintf(stats->policy, sizeof(stats->policy), "%.15s", core->policy->name);
    snprintf(stats->daemon, sizeof(stats->daemon), "%s", core->schedule.daemon ? "thread" : "inline");
    sl_monitor_observe(core);
    if (!core->number && core->options->top == SL_TOP_ON) has_page = sl_monitor_page_open(SL_MONITOR_FOLDER);
    core->monitor = (struct sl_monitor){.shown = has_page && core->number < SL_MONITOR_DEVICES};
    sl_monitor_update(core);
    core->monitor.next_scan_ns = 0; /* nothing was there to be seen yet */
}

void sl_monitor_leave(struct sl_core *core)
{
    sl_monitor_page_leave();
    has_page = false;
    core->monitor = (struct sl_monitor){0};
}
