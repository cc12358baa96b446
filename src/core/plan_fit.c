#include "core/plan_fit.h"

#include "base/test_hooks.h"
#include "core/decide.h"
#include "core/history.h"
#include "core/plan_delay.h"
#include "core/planning.h"
#include "launch/access.h"
#include "move/schedule.h"
#include "move/stats.h"
#include "move/steps.h"
#include "predict/successors.h"

enum { SURE_CONTEXT = 16 }; /* symbols of matching context that make a place certain */
/* A plan begun so many launches ago may be replaced before its end. */
enum { LEAST_AGE = 16 };
/* After so many launches without a match, the program is not expected to continue the plan. */
enum { MOST_ASTRAY = 32 };
/* A launch that came before so many planned ones is a reason to plan again. */
enum { FAR_EARLY = 16 };

void sl_planning_cancel(struct sl_planning *planning, enum sl_cancel_reason why)
{
    const struct sl_schedule *schedule = planning->schedule;
    sl_tick now = planning->ticks->now;
    planning->mispredictions++;
    planning->cancelled++;
    planning->astray_at = 0;
    if (atomic_load(&schedule->active) && why == SL_CANCEL_MISPREDICTED)
        SL_COUNT(planning->stats, mispredictions, 1);
    if (atomic_load(&schedule->active))
        sl_decision_plan_discarded(why, schedule->steps.first_tick,
                                   schedule->end_tick > now ? schedule->end_tick - now : 0, true);
    sl_schedule_cancel(planning->schedule);
}

void sl_planning_mispredicted(struct sl_planning *planning, bool alike)
{
    planning->mispredictions++;
    if (alike) return;
    if (!atomic_load_explicit(&planning->schedule->active, memory_order_relaxed)) return;
    if (!planning->schedule->steps.symbols || !SL_HAS(GOES_ON) ||
        sl_successors_are_needed(planning->successors, planning->history->fed))
        sl_planning_cancel(planning, SL_CANCEL_MISPREDICTED);
    else if (!planning->astray_at)
        planning->astray_at = planning->ticks->now;
}

void sl_planning_lacks(struct sl_planning *planning)
{
    if (planning->astray_at) {
        planning->lacked_astray = true;
        return;
    }
    planning->lacked = true;
    if (planning->lacked_astray) sl_planning_hasten(planning);
}

/* Where a long context matches, a misprediction need not be waited out until enough symbols were predicted
 * again. */
bool sl_planning_knows_place(const struct sl_planning *planning)
{
    return planning->history->streak >= SL_STEADY_STREAK ||
           sl_predictor_match(planning->history->predictor) >= SURE_CONTEXT;
}

/* After a launch that did not match: whether the launches match the plan again, or the plan was cancelled. */
bool sl_planning_find_way(struct sl_planning *planning)
{
    struct sl_schedule *schedule = planning->schedule;
    const struct sl_history *history = planning->history;
    int64_t delay;
    if (!planning->astray_at) return true;
    bool active = atomic_load(&schedule->active);
    if (active && !sl_planning_knows_place(planning)) {
        if (planning->ticks->now - planning->astray_at < MOST_ASTRAY) return false;
    } else if (active && sl_plan_delay(history->predictor, planning->scanner->symbols, &schedule->steps,
                                       planning->ticks->now + 1, &delay)) {
        if (!sl_schedule_delay(schedule, delay)) return false; /* the next launch tries again */
        sl_decision_plan_goes_on(planning->ticks->now, delay);
        planning->astray_at = 0;
        return true;
    }
    planning->astray_at = 0;
    if (active) sl_planning_cancel(planning, SL_CANCEL_MISPREDICTED);
    return true;
}

void sl_planning_hasten(struct sl_planning *planning)
{
    struct sl_schedule *schedule = planning->schedule;
    if (SL_HAS(HASTEN) && planning->ticks->now >= planning->begun_at + LEAST_AGE &&
        planning->ticks->now < schedule->end_tick)
        schedule->end_tick = planning->ticks->now;
}

/* Notes a launch that comes before the plan in work is carried out. */
static void note_came(struct sl_planning *planning, uint8_t history)
{
    if (planning->stage == SL_PLANNING_IDLE) return;
    if (planning->came_count < SL_PLANNING_CAME)
        planning->came[planning->came_count++] = history;
    else
        planning->mispredictions++; /* no room to note it: the plan in work will be discarded */
}

bool sl_planning_knows(struct sl_planning *planning, uint8_t history)
{
    struct sl_schedule *schedule = planning->schedule;
    size_t early;
    note_came(planning, history);
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed)) return true;
    if (!schedule->steps.histories || !sl_schedule_pull(schedule, planning->ticks->now, history, &early))
        return false;
    if (early >= FAR_EARLY) sl_planning_hasten(planning);
    return true;
}
