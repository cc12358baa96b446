#include "core/history.h"

#include "core/core.h"
#include "core/learned.h"
#include "core/report.h"
#include "core/run_metadata.h"
#include "core/sample.h"
#include "launch/extents.h"
#include "move/schedule_pull.h"

/* So many mispredictions, of which those from before FORGOTTEN symbols count half, are a reason to look at
 * each stream by itself. */
enum { TROUBLES = 16, FORGOTTEN = 64 };
/* A launch that came before so many others is a reason to plan again. */
enum { FAR_EARLY = 16 };

#define ACCESSES_FOR_SYMBOL 8 /* that each symbol pays for when extents are learned from all accesses */
#define SYMBOLS_BETWEEN_SUMMARIES 64 /* for the summary of a program that is killed */

void sl_history_learn_extents(struct sl_core *core)
{
    if (core->history.fed - core->scanner.extents.learned_at <
        core->symbols.access_count / ACCESSES_FOR_SYMBOL)
        return;
    core->scanner.extents.learned_at = core->history.fed;
    sl_extents_learn(&core->scanner);
}

/* An iteration is one period of the predicted string; before anything is predicted, all is the first one. */
static void count_iterations(struct sl_core *core, bool hit)
{
    core->history.fed++;
    if (!hit || core->history.streak < SL_STEADY_STREAK) return;
    uint64_t period = sl_history_period(&core->history, false);
    if (!period || core->history.fed < core->history.iteration_end) return;
    /* Before it is seen that something repeats, it has; a profile says where it begins. */
    bool late = !core->history.iteration_end && core->history.streak == SL_STEADY_STREAK;
    core->history.iteration_end = core->history.fed + period - (late ? SL_STEADY_STREAK : 0);
    sl_stalls_settle(core);
    sl_samples_settle(core);
    if (core->budget.pressure)
        sl_migrator_measure(&core->migrator, &core->migrator.link_in_bytes_per_s,
                            &core->migrator.link_out_bytes_per_s);
    sl_history_learn_extents(core);
    sl_stats_next_iteration(&core->stats);
    sl_run_metadata_iteration(core);
    sl_learned_iteration(core);
}

size_t sl_history_period(const struct sl_history *history, bool horizon)
{
    if (history->interleaved) return sl_interleaver_period(history->interleaver);
    return horizon ? sl_predictor_horizon(history->predictor) : sl_predictor_period(history->predictor);
}

struct sl_predictor_counts sl_history_foreseen(const struct sl_history *history)
{
    struct sl_predictor_counts counts = sl_predictor_counts(history->predictor);
    counts.predicted += history->interleaver_gained;
    counts.mispredictions -= history->interleaver_gained;
    return counts;
}

/* Where several streams are in use and their symbols in one string are mispredicted again and again. */
static void note_trouble(struct sl_core *core)
{
    if (core->streams.count < 2 || !core->policy->plans) return;
    uint64_t halves = (core->history.fed - core->history.trouble_at) / FORGOTTEN;
    core->history.troubles = (halves < 32 ? core->history.troubles >> halves : 0) + 1;
    core->history.trouble_at = core->history.fed;
    if (core->history.troubles < TROUBLES) return;
    core->history.troubles = 0;
    core->history.interleaver = sl_interleaver_new();
}

static void unravel(struct sl_core *core)
{
    sl_interleaver_delete(core->history.interleaver);
    core->history.interleaver = NULL;
    core->history.interleaved = false;
}

/* What is being planned begins with launches that have come by the time when it is carried out. */
static void note_came(struct sl_planning *planning, uint8_t history)
{
    if (planning->stage == SL_PLANNING_IDLE) return;
    if (planning->came_count < SL_PLANNING_CAME)
        planning->came[planning->came_count++] = history;
    else
        planning->mispredictions++; /* it comes to nothing */
}

/* Of a stream's next launch the plan knows, though it may come earlier or later than was thought. */
static bool is_planned(struct sl_core *core, sl_symbol symbol, uint32_t stream)
{
    struct sl_schedule *schedule = &core->schedule;
    uint8_t history = sl_interleaver_history(core->history.interleaver, stream);
    size_t early;
    if (core->symbols.records[symbol].kind != SL_SYMBOL_LAUNCH) return true;
    note_came(&core->planning, history);
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed)) return true;
    if (!schedule->steps.histories || !sl_schedule_pull(schedule, core->ticks.now, history, &early))
        return false;
    if (early >= FAR_EARLY) sl_planning_hasten(core);
    return true;
}

/* Whether the symbol was foreseen, by whom lately foresaw more. `whole`: whether by the string of all. */
static bool feed_stream(struct sl_core *core, sl_symbol symbol, uint32_t stream, bool whole)
{
    bool hit = sl_interleaver_feed(core->history.interleaver, stream, symbol, whole),
         holds = sl_interleaver_holds(core->history.interleaver);
    if (core->history.interleaved != holds) {
        core->history.interleaved = holds;
        return false; /* what is planned is something else */
    }
    if (!holds) {
        if (sl_interleaver_is_idle(core->history.interleaver)) unravel(core);
        return whole;
    }
    core->history.interleaver_gained += (uint64_t)hit - (uint64_t)whole;
    return hit && is_planned(core, symbol, stream);
}

void sl_history_feed(struct sl_core *core, sl_symbol symbol, uint32_t stream)
{
    bool hit = sl_predictor_feed(core->history.predictor, symbol);
    if (core->history.interleaver)
        hit = feed_stream(core, symbol, stream, hit);
    else if (!hit)
        note_trouble(core);
    if (!hit) sl_confidence_ended(&core->history.confidence, core->history.streak);
    core->history.streak = hit ? core->history.streak + 1 : 0;
    core->planning.mispredictions += !hit;
    if (!hit && atomic_load_explicit(&core->schedule.active, memory_order_relaxed)) {
        atomic_fetch_add(&core->stats.mispredictions, 1);
        sl_planning_cancel(core);
    }
    count_iterations(core, hit);
    if (core->live && core->history.fed % SYMBOLS_BETWEEN_SUMMARIES == 0)
        sl_report_summary(core, &core->live->facts);
}

/* What was learned of the program's order is dropped when its tables are full of what does not come again,
 * and learned anew from here on. */
void sl_history_forget(struct sl_core *core)
{
    sl_learned_forget(core);
    sl_planning_cancel(core);
    sl_predictor_clear(core->history.predictor);
    unravel(core);
    sl_symbols_clear(&core->symbols);
    sl_durations_forget(&core->sampling.durations);
    sl_successors_forget(&core->successors);
    sl_samples_forget(core);
    core->planning.unlearn = true;
    sl_placement_forget(&core->placement);
    core->history.streak = 0;
    core->history.iteration_end = 0;
    sl_scanner_forget(&core->scanner);
}
