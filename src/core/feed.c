#include "core/feed.h"

#include "core/core.h"
#include "core/decide.h"
#include "core/learned.h"
#include "core/plan_fit.h"
#include "launch/extents.h"

#define SYMBOLS_BETWEEN_UPDATES 64 /* keeps what others read of the run recent */

static void end_iteration(struct sl_core *core)
{
    sl_stalls_settle(&core->stalls);
    sl_stalls_step(&core->stalls);
    sl_samples_settle(&core->sampling);
    if (core->budget.pressure)
        sl_migrator_measure(&core->migrator, &core->migrator.link_in_bytes_per_s,
                            &core->migrator.link_out_bytes_per_s);
    sl_extents_learn_if_due(&core->scanner, core->history.fed);
    sl_stats_next_iteration(&core->stats);
    core->history.iterations++;
    sl_monitor_step(core);
    sl_record_iteration(&core->recorder, &core->stats, &core->migrator);
    if (core->learned) sl_learned_iteration(core->learned);
}

void sl_core_feed(struct sl_core *core, sl_symbol symbol, sl_symbol expected, uint32_t stream)
{
    struct sl_history *history = &core->history;
    bool hit = sl_history_feed(history, symbol, stream, core->policy->plans && core->streams.count > 1);
    if (hit && history->interleaved && core->symbols.records[symbol].kind == SL_SYMBOL_LAUNCH)
        hit = sl_planning_knows(&core->planning, sl_interleaver_history(history->interleaver, stream));
    bool ended = sl_history_count(history, hit);
    if (!hit) {
        if (expected != SL_NONE && core->budget.pressure) { /* else no plan depends on it */
            sl_decision_misprediction(&core->scanner, core->ticks.now, expected, symbol);
            sl_monitor_mispredicted(core, expected, symbol);
        }
        sl_planning_mispredicted(&core->planning,
                                 expected != SL_NONE && !history->interleaved &&
                                     sl_access_same_chunks(&core->scanner, expected, symbol));
    }
    if (ended) end_iteration(core);
    if (history->fed % SYMBOLS_BETWEEN_UPDATES == 0) sl_monitor_update(core);
}

void sl_core_placed(struct sl_core *core, uint64_t expected, uint64_t address)
{
    struct sl_history *history = &core->history;
    bool moved = core->placement.moves != history->moves;
    history->moves = core->placement.moves;
    history->strays +=
        expected ? sl_arena_chunk(&core->arena, expected) != sl_arena_chunk(&core->arena, address) : moved;
    sl_predictor_note(history->predictor, address);
}

void sl_core_forget(struct sl_core *core)
{
    if (core->learned) sl_learned_forget(core->learned);
    sl_planning_cancel(&core->planning, SL_CANCEL_FORGOTTEN);
    sl_history_forget(&core->history);
    sl_monitor_forget(&core->monitor);
    sl_symbols_clear(&core->symbols);
    sl_samples_forget(&core->sampling);
    sl_successors_forget(&core->successors);
    sl_relayout_forget(&core->planning.forecast.relayout);
    core->planning.unlearn = true;
    sl_placement_forget(&core->placement);
    sl_scanner_forget(&core->scanner);
}

void sl_core_under_pressure(struct sl_core *core)
{
    core->budget.pressure = true;
    if (core->policy->plans) sl_sampler_open(&core->sampling, (uint32_t)core->options->trace_sample);
}

/* Cancels the plan, which was made for a larger budget, if the chunks do not fit. */
static void plan_for_less(struct sl_core *core)
{
    sl_lock(&core->order);
    if (sl_budget_is_short(&core->budget)) {
        sl_core_under_pressure(core);
        sl_planning_cancel(&core->planning, SL_CANCEL_BUDGET);
    }
    sl_unlock(&core->order);
}

/* Other processes' devices on the link to the host may have come or gone. */
static void count_link_sharers(struct sl_core *core)
{
    uint32_t devices = core->host.link ? sl_host_room_link_sharers(core) : 0;
    if (!devices) return;
    sl_lock(&core->order);
    if (devices != core->migrator.link_sharers) sl_migrator_share_link(&core->migrator, devices);
    sl_unlock(&core->order);
}

void sl_core_look(struct sl_core *core, bool now)
{
    sl_tick looked_at = atomic_load(&core->budget.watch.looked_at);
    bool less = sl_budget_look(&core->budget, now);
    if (atomic_load(&core->budget.watch.looked_at) != looked_at) count_link_sharers(core);
    if (!less) return;
    plan_for_less(core);
    atomic_store(&core->budget.lessened, true);
}

void sl_core_give_way(struct sl_core *core)
{
    if (!atomic_exchange(&core->budget.lessened, false)) return;
    plan_for_less(core);
    sl_demand_give_way(&core->demand);
}
