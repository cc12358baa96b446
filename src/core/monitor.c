#include "core/monitor.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/core.h"
#include "core/decide.h"

#define STEPS_TO_KEEP 8 /* a step measured by the device's clock is shown for so many more */

/* From the begin of a scan to the next: with what each slot adds, scans take less than 1 % of the time. */
#define BETWEEN_SCANS_NS 1000000000u
#define BETWEEN_SCANS_SLOT_NS 2000u

static struct sl_monitor_page *page;

void sl_monitor_begin(struct sl_core *core)
{
    if (!core->number && core->options->top == SL_TOP_ON) page = sl_monitor_page_open(SL_MONITOR_FOLDER);
    if (!page || core->number >= SL_MONITOR_DEVICES) return;
    core->monitor = (struct sl_monitor){.entry = sl_monitor_page_entry(page, core->number)};
    struct sl_monitor_figures *figures = &core->monitor.figures;
    snprintf(figures->policy, sizeof(figures->policy), "%.15s", core->policy->name);
    snprintf(figures->daemon, sizeof(figures->daemon), "%s", core->daemon ? "thread" : "inline");
    sl_monitor_update(core);
    core->monitor.next_scan_ns = 0; /* nothing was there to be seen yet */
}

static struct sl_monitor_sums sums_of(const struct sl_core *core)
{
    const struct sl_stats *stats = &core->stats;
    const struct sl_counts *total = &stats->total;
    struct sl_monitor_sums sums = {.launches = total->launches,
                                   .stalls = total->stalls,
                                   .stall_ns = total->stall_ns,
                                   .unmeasured_stalls = core->stalls.unmeasured,
                                   .demand_misses = total->demand_misses,
                                   .late_prefetches = total->late_prefetches,
                                   .mispredictions = stats->mispredictions,
                                   .remote_bytes = total->remote_bytes};
    for (int c = 0; c < 3; c++) {
        sums.in_bytes[c] = stats->in_by_cause[c];
        sums.out_bytes[c] = stats->out_by_cause[c];
    }
    return sums;
}

/* All members are words. */
static struct sl_monitor_sums since(const struct sl_monitor_sums *now, const struct sl_monitor_sums *then)
{
    uint64_t a[sizeof(*now) / sizeof(uint64_t)], b[sizeof(a) / sizeof(*a)];
    struct sl_monitor_sums difference;
    memcpy(a, now, sizeof(a));
    memcpy(b, then, sizeof(b));
    for (size_t i = 0; i < sizeof(a) / sizeof(*a); i++) a[i] -= b[i];
    memcpy(&difference, a, sizeof(a));
    return difference;
}

static enum sl_monitor_plan plan_of(const struct sl_core *core)
{
    const struct sl_planning *planning = &core->planning;
    if (!core->policy->plans) return SL_MONITOR_NOT_MADE;
    if (!core->budget.pressure) return SL_MONITOR_NONE_NEEDED;
    if (atomic_load(&core->schedule.active))
        return planning->astray_at ? SL_MONITOR_DEVIATED : SL_MONITOR_FOLLOWED;
    return planning->stage == SL_PLANNING_IDLE ? SL_MONITOR_LEARNING : SL_MONITOR_MAKING;
}

static void note_plan(struct sl_core *core, uint64_t now)
{
    struct sl_monitor *monitor = &core->monitor;
    uint64_t generation = atomic_load(&core->schedule.generation);
    bool active = atomic_load(&core->schedule.active);
    if (active && (generation != monitor->plan_generation || !monitor->figures.plan_taken)) {
        monitor->plan_generation = generation;
        monitor->figures.plan_taken = now;
    }
    if (!active) monitor->figures.plan_taken = 0;
    monitor->figures.plan = plan_of(core);
}

static void name_difference(struct sl_core *core)
{
    struct sl_monitor *monitor = &core->monitor;
    if (!monitor->differs) return;
    monitor->differs = false;
    monitor->figures.mispredicted = monitor->figures.updated;
    sl_decision_name(&core->scanner, monitor->expected, monitor->figures.expected, SL_MONITOR_NAME);
    sl_decision_name(&core->scanner, monitor->came, monitor->figures.came, SL_MONITOR_NAME);
}

static void fill_memory(const struct sl_core *core, struct sl_monitor_figures *figures)
{
    int64_t charged = atomic_load(&core->budget.charged_bytes);
    figures->budget_bytes = sl_budget_bytes(&core->budget);
    figures->resident_bytes = atomic_load(&core->migrator.occupied_bytes);
    figures->taken_bytes = charged > 0 ? (uint64_t)charged : 0;
    figures->lost_bytes = atomic_load(&core->budget.watch.lost_bytes);
    figures->peak_resident_bytes = core->stats.peak_occupied_bytes;
    figures->chunk_bytes = core->arena.chunk_bytes;
    figures->live_bytes = core->placement.live_bytes;
    figures->need_bytes = core->placement.peak_live_bytes;
    figures->pinned_bytes = core->placement.pinned_live_bytes;
    figures->host_bytes = sl_arena_host_bytes(&core->arena);
    figures->host_limit_bytes = core->host.share->limit_bytes;
    figures->link_in_bytes_per_s = core->migrator.link_in_bytes_per_s;
    figures->link_out_bytes_per_s = core->migrator.link_out_bytes_per_s;
}

/* The number of scans that should have begun by now. */
static uint64_t scans_due(struct sl_core *core)
{
    struct sl_monitor *monitor = &core->monitor;
    uint64_t now_ns = sl_clock_ns(CLOCK_MONOTONIC);
    if (now_ns < monitor->next_scan_ns) return monitor->scans;
    monitor->next_scan_ns = now_ns + BETWEEN_SCANS_NS + core->placement.slot_count * BETWEEN_SCANS_SLOT_NS;
    return ++monitor->scans;
}

void sl_monitor_update(struct sl_core *core)
{
    struct sl_monitor *monitor = &core->monitor;
    struct sl_monitor_figures *figures = &monitor->figures;
    if (!monitor->entry) return;
    uint64_t now = sl_clock_ticks();
    struct sl_predictor_counts predictor = sl_history_counts(&core->history);
    figures->updated = now;
    figures->total = sums_of(core);
    figures->fed = predictor.fed;
    figures->predicted = predictor.predicted;
    figures->plans = core->stats.plans;
    figures->oversize_launches = core->stats.oversize_launches;
    fill_memory(core, figures);
    note_plan(core, now);
    name_difference(core);
    sl_monitor_memory_scan(&monitor->memory, core, scans_due(core), now, figures);
    sl_monitor_page_write(monitor->entry, figures);
}

void sl_monitor_step(struct sl_core *core)
{
    struct sl_monitor *monitor = &core->monitor;
    struct sl_monitor_figures *figures = &monitor->figures;
    if (!monitor->entry) return;
    uint64_t now = sl_clock_ticks();
    struct sl_monitor_sums sums = sums_of(core);
    figures->step = since(&sums, &monitor->at_step);
    figures->step_time = figures->step_began ? now - figures->step_began : 0;
    figures->step_began = now;
    figures->steps = core->history.iterations;
    bool fresh = core->stalls.steps - core->stalls.mark.step <= STEPS_TO_KEEP;
    figures->device_step_ns = fresh ? core->stalls.step_ns : 0;
    figures->device_stall_ns = fresh ? core->stalls.step_stall_ns : 0;
    monitor->at_step = sums;
    sl_monitor_memory_step(&monitor->memory, core->placement.allocations, core->ticks.now);
    sl_monitor_update(core);
}

void sl_monitor_mispredicted(struct sl_monitor *monitor, sl_symbol expected, sl_symbol came, uint64_t event)
{
    if (!monitor->entry) return;
    monitor->expected = expected;
    monitor->came = came;
    monitor->differs = true;
    monitor->figures.mispredicted_event = event;
}

void sl_monitor_forget(struct sl_monitor *monitor)
{
    monitor->differs = false;
}

void sl_monitor_end(void)
{
    sl_monitor_page_close(page);
}

void sl_monitor_leave(struct sl_core *core)
{
    sl_monitor_page_leave();
    page = NULL;
    if (core) core->monitor = (struct sl_monitor){0};
}
