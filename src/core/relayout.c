#include "core/relayout.h"

#include "base/test_hooks.h"
#include "core/core.h"
#include "core/forecast.h"
#include "core/planner.h"
#include "launch/symbols.h"
#include "memory/placement.h"

#define MOST_PERIOD ((size_t)1 << 16)
/* Where sizes vary: another layout is looked for so many periods after the last one, if so many allocations
 * strayed. */
enum { PERIODS_BETWEEN = 2, PART_THAT_STRAYS = 32, PART_THAT_MAY_STRAY = 128 };
#define MOST_TRIES 6 /* at intervals that double, from one period on */

/* Whether many allocations came to lie elsewhere since the last try. Where sizes vary, a step of the largest
 * sizes so far leaves a layout without room behind. */
static bool has_strayed(const struct sl_relayout *relayout, const struct sl_history *history, size_t period)
{
    return history->vary && history->fed >= relayout->anew_at &&
           history->strays - relayout->strays > period / PART_THAT_STRAYS;
}

/* Whether the last period came as predicted, from one period back. Where sizes vary, nearly so, from however
 * many, and with its allocations nearly all where predicted: where they often are not, a tight layout does
 * not last. */
static bool repeats(struct sl_history *history, size_t period)
{
    if (!history->vary)
        return history->streak >= period && period == sl_predictor_distance(history->predictor);
    return sl_history_nearly_predicted(history) >= period &&
           sl_history_nearly_in_place(history, period / PART_THAT_MAY_STRAY) >= period &&
           sl_history_believed(history) >= period;
}

bool sl_relayout_is_due(const struct sl_relayout *relayout, struct sl_history *history)
{
    size_t period = sl_predictor_period(history->predictor);
    bool first = relayout->tries < MOST_TRIES && history->fed >= relayout->due_at;
    return SL_HAS(RELAYOUT) && !relayout->job && (first || has_strayed(relayout, history, period)) &&
           !history->interleaved && period && period <= MOST_PERIOD && repeats(history, period);
}

/* Number of symbols until the fewest bytes are alive: there the most allocations have their whole life ahead.
 */
static size_t until_least_alive(const struct sl_core *core, const sl_symbol *symbols, size_t period)
{
    int64_t alive = 0, least = 0;
    size_t until = 0;
    for (size_t at = 0; at < period; at++) {
        const struct sl_symbol_record *record = &core->symbols.records[symbols[at]];
        if (record->kind == SL_SYMBOL_LAUNCH) continue;
        int64_t bytes = (int64_t)core->placement.slots[record->slot].bytes;
        alive += record->kind == SL_SYMBOL_ALLOC ? bytes : -bytes;
        if (alive >= least) continue;
        least = alive;
        until = at + 1;
    }
    return until;
}

static uint64_t doubled(uint64_t symbols, uint32_t times)
{
    return symbols << (times < MOST_TRIES ? times : MOST_TRIES);
}

/* Whether to try now. Counts the try, or says when it is due. Until it is known to be better, it failed. */
static bool may_try(struct sl_relayout *relayout, const struct sl_core *core,
                    const struct sl_forecast *forecast, size_t period)
{
    const struct sl_history *history = &core->history;
    bool predicted = forecast->count >= 2 * period;
    bool waits = predicted && !relayout->waited && !history->vary;
    size_t wait = waits ? until_least_alive(core, forecast->symbols, period) : 0;
    relayout->waited |= predicted;
    if (wait) {
        relayout->due_at = relayout->anew_at = history->fed + wait;
        return false;
    }
    relayout->due_at = history->fed + doubled(period, relayout->tries++);
    relayout->anew_at = history->fed + doubled(PERIODS_BETWEEN * period, relayout->failed++);
    relayout->strays = history->strays;
    return predicted;
}

static void end(struct sl_relayout *relayout, bool apply)
{
    if (apply) {
        sl_layout_job_apply(relayout->job);
        relayout->done++;
        relayout->failed = 0;
    }
    sl_layout_job_delete(relayout->job);
    relayout->job = NULL;
    relayout->drop = false;
}

void sl_relayout(struct sl_relayout *relayout, struct sl_core *core, struct sl_planner *planner)
{
    struct sl_forecast forecast = {.core = core};
    size_t period = sl_predictor_period(core->history.predictor);
    if (sl_forecast_begin(&forecast) == SL_OK && may_try(relayout, core, &forecast, period))
        relayout->job = sl_layout_job_new(core, &forecast, period, relayout->tries);
    sl_forecast_close(&forecast);
    if (!relayout->job) return;
    if (planner && !sl_planner_is_here(planner)) {
        sl_planner_begin_spare(planner, sl_layout_job_step, relayout->job);
        return;
    }
    while (sl_layout_job_step(relayout->job)) {
    }
    end(relayout, sl_layout_job_is_better(relayout->job));
}

void sl_relayout_go_on(struct sl_relayout *relayout, const struct sl_planner *planner)
{
    struct sl_layout_job *job = relayout->job;
    if (!job || !planner) return;
    bool begins = sl_layout_job_is_at_begin(job);
    if (sl_planner_has_spare(planner)) return;
    bool wanted = !relayout->drop && sl_layout_job_is_better(job) && sl_layout_job_holds(job);
    if (!wanted || begins) end(relayout, wanted);
}

void sl_relayout_forget(struct sl_relayout *relayout)
{
    *relayout = (struct sl_relayout){.job = relayout->job, .drop = relayout->job};
}

void sl_relayout_close(struct sl_relayout *relayout)
{
    sl_layout_job_delete(relayout->job);
    relayout->job = NULL;
}
