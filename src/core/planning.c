#include "core/planning.h"

#include "base/ablation.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/budget.h"
#include "core/decide.h"
#include "core/history.h"
#include "core/plan_delay.h"
#include "core/plan_switch.h"
#include "core/planner.h"
#include "core/policy.h"
#include "core/ticks.h"
#include "launch/access.h"
#include "launch/extents.h"
#include "move/migrator_valid.h"
#include "move/schedule.h"
#include "move/schedule_pull.h"
#include "move/schedule_take.h"
#include "move/stats.h"
#include "plan/plan_content.h"
#include "plan/wrong_plan.h"
#include "predict/successors.h"

#define LAUNCHES_BETWEEN_PLANS 16 /* that are begun anew, while mispredictions are frequent */
/* What a launch does for the next forecast, in chunks and accesses looked at: some microseconds. More where
 * nothing is planned yet. */
#define LEAST_UNITS 256
#define UNITS_WITHOUT_PLAN 4096
#define MOST_REFUSALS                                                                                        \
    64 /* launches that leave the taking over to the next one, rather than wait for a lock */

enum { EIGHTHS = 8, MORE_LEAD = 2 };
enum { LEAST_BELIEVED = 12 }; /* symbols: less is not worth a plan */
enum { SURE_CONTEXT = 16 };   /* symbols that came like this before */
/* When so many chunks came ahead, or such a part of the budget, it is judged by how much was used. */
enum { ENOUGH_CHUNKS = 16, ENOUGH_PART = 4 };

/* A plan that is so many launches old may be replaced before its end. */
enum { LEAST_AGE = 16 };
/* Launches after which the program is not expected back on the plan's way. */
enum { MOST_ASTRAY = 32 };
/* Of so many launches one may lack something before the plan is given up; at the start a few more. */
enum { LACKS_ONE_OF = 16, LACKS_AT_FIRST = 4 };
/* A launch that came before so many others is a reason to plan again. */
enum { FAR_EARLY = 16 };

void sl_planning_cancel(struct sl_planning *planning, enum sl_cancel_reason why)
{
    const struct sl_schedule *schedule = planning->schedule;
    sl_tick now = planning->ticks->now;
    planning->mispredictions++;
    planning->cancelled++;
    planning->astray_at = 0;
    if (atomic_load(&schedule->active) && (why == SL_CANCEL_MISPREDICTED || why == SL_CANCEL_LACKING))
        atomic_fetch_add(&planning->stats->mispredictions, 1);
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
    if (planning->lacked_astray) sl_planning_hasten(planning);
    if (!SL_HAS(LACKS)) return;
    if (++planning->lacked > LACKS_AT_FIRST + (planning->ticks->now - planning->taken_at) / LACKS_ONE_OF)
        sl_planning_cancel(planning, SL_CANCEL_LACKING);
}

/* A misprediction in a place that is known well, where this followed before, is no reason to wait and see. */
static bool knows_place(const struct sl_planning *planning)
{
    return planning->history->streak >= SL_STEADY_STREAK ||
           sl_predictor_match(planning->history->predictor) >= SURE_CONTEXT;
}

/* The program has left the plan's way: whether it is back on it, or the plan is given up. */
static bool is_on_its_way(struct sl_planning *planning)
{
    struct sl_schedule *schedule = planning->schedule;
    const struct sl_history *history = planning->history;
    int64_t delay;
    if (!planning->astray_at) return true;
    bool active = atomic_load(&schedule->active);
    if (active && !knows_place(planning)) {
        if (planning->ticks->now - planning->astray_at < MOST_ASTRAY) return false;
    } else if (active && sl_plan_delay(history->predictor, planning->scanner->symbols, &schedule->steps,
                                       planning->ticks->now + 1, &delay)) {
        if (!sl_schedule_delay(schedule, delay)) return false; /* the next launch does */
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

static void say(enum sl_status status)
{
    if (status && status != SL_ERR_UNSUPPORTED)
        sl_warn_once("no plan could be made (%s); chunks are fetched on demand", sl_status_text(status));
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

/* What was learned from the plans before. pre: no plan is being made. */
static struct sl_plan_lessons *lessons(struct sl_planning *planning)
{
    if (planning->unlearn) sl_plan_lessons_free(&planning->lessons);
    planning->unlearn = false;
    return &planning->lessons;
}

/* Whether what is predicted is believed in for as far as would be planned. */
static bool is_believed(struct sl_planning *planning)
{
    const struct sl_schedule *schedule = planning->schedule;
    sl_tick planned = atomic_load(&schedule->active) && schedule->end_tick > planning->ticks->now
                          ? schedule->end_tick - planning->ticks->now
                          : 0;
    uint64_t chunks = ENOUGH_CHUNKS * planning->arena->chunk_bytes,
             part = planning->budget->bytes / ENOUGH_PART;
    sl_confidence_judge(&planning->history->confidence,
                        atomic_load(&planning->stats->in_by_cause[SL_CAUSE_PLAN]),
                        atomic_load(&planning->stats->unused_bytes), chunks < part ? chunks : part);
    return sl_history_believed(planning->history) >= planned + LEAST_BELIEVED;
}

/* Whether it is worth while to plan where nothing is planned. One plan that follows another is no reason
 * against it: where that one ends is where mispredictions happened before. */
static bool may_begin_anew(const struct sl_planning *planning)
{
    return planning->ticks->now >= planning->begun_anew_at + LAUNCHES_BETWEEN_PLANS;
}

/* What a profile predicts is planned before the program has gone far: nothing is on its way yet. */
static bool is_first_of_profile(const struct sl_planning *planning)
{
    return planning->history->primed_symbols && !planning->begun_at;
}

static void note_taken(struct sl_planning *planning)
{
    planning->carried_out = atomic_load(&planning->schedule->generation);
    planning->taken_at = planning->ticks->now;
    planning->lacked = 0;
    planning->lacked_astray = false;
}

static void note_begin(struct sl_planning *planning)
{
    bool active = atomic_load(&planning->schedule->active);
    sl_decision_plan_begun(is_first_of_profile(planning) ? SL_BEGIN_PROFILE
                           : active                      ? SL_BEGIN_FOLLOWS
                                                         : SL_BEGIN_ANEW,
                           planning->ticks->now);
    planning->begun_at = planning->ticks->now;
    if (!active) planning->begun_anew_at = planning->ticks->now;
}

/* --- by the launch --- */

static enum sl_status make_plan(struct sl_planning *planning, struct sl_steps *steps)
{
    struct sl_forecast *forecast = &planning->forecast;
    enum sl_status status = sl_forecast_begin(forecast);
    if (status == SL_OK) sl_forecast_step(forecast, SIZE_MAX, &status);
    if (status) return status;
    struct sl_plan_input input = sl_forecast_input(forecast);
    struct sl_plan plan;
    status = sl_plan_make(&input, lessons(planning), &plan);
    if (status) return status;
    SL_WRONG_PLAN(&input, &plan);
    status = sl_steps_new(&plan, &input, forecast->served_launches, 0, steps);
    if (planning->planner) /* who goes on where this one ends */
        sl_plan_content(&input, &plan, forecast->served_launches, forecast->at_end.content);
    sl_plan_free(&plan);
    return status;
}

static bool must_plan_now(struct sl_planning *planning)
{
    const struct sl_schedule *schedule = planning->schedule;
    if (is_first_of_profile(planning)) return true;
    bool now = atomic_load(&schedule->active) ? planning->ticks->now + 1 >= schedule->end_tick
                                              : may_begin_anew(planning);
    return now && is_believed(planning);
}

static void plan_here(struct sl_planning *planning)
{
    struct sl_schedule *schedule = planning->schedule;
    struct sl_steps steps = {0};
    note_begin(planning);
    sl_extents_learn_if_due(planning->scanner, planning->history->fed);
    if (!sl_migrator_try_lock(planning->migrator, SL_PATIENCE)) return; /* the next launch does */
    enum sl_status status = make_plan(planning, &steps);
    if (status == SL_OK)
        sl_schedule_take(schedule, &steps);
    else
        sl_schedule_clear(schedule);
    sl_schedule_submitted(schedule, sl_ticks_submitted(planning->ticks));
    SL_CHECK_ALL(sl_migrator_is_valid(planning->migrator));
    sl_migrator_unlock(planning->migrator);
    if (status == SL_OK) {
        note_taken(planning);
        sl_decision_plan_switch(schedule);
    } else {
        sl_decision_plan_discarded(SL_CANCEL_FAILED, planning->ticks->now + 1, 0, false);
    }
    sl_steps_free(&steps);
    say(status);
    atomic_fetch_add(&planning->stats->plans, status == SL_OK);
}

/* --- beside the launches --- */

/* Whether the first plan of a simulated run is still held back: see sl_backend.first_plan_late. */
static bool first_waits(struct sl_planning *planning)
{
    if (planning->begun_at || planning->first_late <= 0) return false;
    uint64_t fed = planning->history->fed;
    if (!planning->first_from) planning->first_from = fed;
    double late = planning->first_late * (double)sl_forecast_served_symbols(&planning->forecast);
    return (double)(fed - planning->first_from) < late;
}

static bool is_time(struct sl_planning *planning)
{
    const struct sl_schedule *schedule = planning->schedule;
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed))
        return may_begin_anew(planning) && is_believed(planning) && !first_waits(planning);
    size_t lead = planning->lead_eighths ? schedule->steps.serve * planning->lead_eighths / EIGHTHS : 1;
    return planning->ticks->now >= planning->begun_at + LAUNCHES_BETWEEN_PLANS &&
           planning->ticks->now + lead >= schedule->end_tick && is_believed(planning);
}

/* The work is spread over the first half of what is left, where much is. */
static size_t units_for(const struct sl_planning *planning)
{
    const struct sl_forecast *forecast = &planning->forecast;
    if (!planning->lead_eighths) return SIZE_MAX;
    if (!planning->continues) return UNITS_WITHOUT_PLAN;
    size_t left = planning->schedule->end_tick > planning->ticks->now
                      ? planning->schedule->end_tick - planning->ticks->now
                      : 1;
    size_t units = 2 * forecast->last_units / left;
    return units > LEAST_UNITS ? units : LEAST_UNITS;
}

static bool begin_forecast(struct sl_planning *planning)
{
    const struct sl_schedule *schedule = planning->schedule;
    bool follows =
        atomic_load(&schedule->active) && planning->carried_out == atomic_load(&schedule->generation);
    follows &= planning->known_mispredictions == planning->mispredictions;
    note_begin(planning);
    planning->known_mispredictions = planning->mispredictions;
    planning->known_cancelled = planning->cancelled;
    planning->refusals = planning->came_count = planning->followed = 0;
    sl_extents_learn_if_due(planning->scanner, planning->history->fed);
    planning->continues = follows && SL_HAS(CONTINUE) && sl_forecast_continue(&planning->forecast) == SL_OK;
    enum sl_status status = planning->continues ? SL_OK : sl_forecast_begin(&planning->forecast);
    say(status);
    if (status == SL_OK) planning->units = units_for(planning);
    return status == SL_OK;
}

static void go_on_forecasting(struct sl_planning *planning)
{
    enum sl_status status = SL_OK;
    if (!sl_forecast_step(&planning->forecast, planning->units, &status)) return;
    say(status);
    planning->stage = SL_PLANNING_IDLE;
    if (status) return;
    struct sl_plan_job job = {.input = sl_forecast_input(&planning->forecast),
                              .serve = planning->forecast.served_launches,
                              .lessons = lessons(planning),
                              .at_end = planning->forecast.at_end.content};
    sl_planner_begin(planning->planner, &job);
    planning->stage = SL_PLANNING_MADE;
}

/* A plan is late if what it follows ended before. */
static void note_late(struct sl_planning *planning, const struct sl_plan_job *job)
{
    if (!planning->continues || planning->refusals || planning->ticks->now + 1 <= job->input.first_tick)
        return;
    atomic_fetch_add(&planning->stats->plans_late, 1);
    if (planning->lead_eighths < EIGHTHS) planning->lead_eighths += MORE_LEAD;
}

/* Puts the plan in the order in which the streams' launches came since it was begun. */
static bool follow_streams(struct sl_planning *planning, struct sl_plan_job *job)
{
    for (; job->input.histories && planning->followed < planning->came_count; planning->followed++)
        if (!sl_steps_pull(&job->steps, job->input.first_tick + planning->followed,
                           planning->came[planning->followed]))
            return false;
    return true;
}

/* Something else than was predicted came since the forecast: whether the program goes on as it has it. */
static bool catch_up(struct sl_planning *planning, struct sl_plan_job *job)
{
    int64_t delay;
    if (!job->steps.symbols || !SL_HAS(GOES_ON) || planning->cancelled != planning->known_cancelled ||
        !sl_plan_delay(planning->history->predictor, planning->scanner->symbols, &job->steps,
                       planning->ticks->now + 1, &delay))
        return false;
    sl_steps_delay(&job->steps, delay);
    job->input.first_tick += (sl_tick)delay;
    planning->known_mispredictions = planning->mispredictions;
    return planning->ticks->now + 1 >= job->input.first_tick;
}

/* Whether the plan that was made is still of use; else why it is not. */
static bool still_serves(struct sl_planning *planning, struct sl_plan_job *job, enum sl_cancel_reason *why)
{
    *why = SL_CANCEL_FAILED;
    if (job->status) return false;
    *why = SL_CANCEL_MISPREDICTED;
    if (planning->mispredictions != planning->known_mispredictions && !catch_up(planning, job)) return false;
    note_late(planning, job);
    *why = SL_CANCEL_LATE;
    if (planning->ticks->now + 1 >= job->input.first_tick + job->serve) return false;
    *why = SL_CANCEL_STREAMS;
    return follow_streams(planning, job);
}

static void take_plan(struct sl_planning *planning)
{
    struct sl_plan_job *job = sl_planner_job(planning->planner);
    enum sl_cancel_reason why;
    if (still_serves(planning, job, &why)) {
        if (!sl_migrator_try_lock(planning->migrator, planning->refusals < MOST_REFUSALS ? 1 : SL_PATIENCE)) {
            planning->refusals += planning->refusals < MOST_REFUSALS;
            return;
        }
        sl_plan_switch(planning, job, planning->continues && !planning->lacked);
        sl_migrator_unlock(planning->migrator);
        note_taken(planning);
        atomic_fetch_add(&planning->stats->plans, 1);
        sl_decision_plan_switch(planning->schedule);
    } else {
        sl_decision_plan_discarded(why, job->input.first_tick, job->serve, false);
    }
    say(job->status);
    atomic_fetch_add(&planning->stats->plan_ns, job->cpu_ns);
    sl_planner_end(planning->planner);
    planning->stage = SL_PLANNING_IDLE;
}

static bool has_work(struct sl_planning *planning)
{
    const struct sl_plan_job *job = sl_planner_job(planning->planner);
    switch (planning->stage) {
    case SL_PLANNING_IDLE:
        return is_time(planning);
    case SL_PLANNING_FORECAST:
        return true;
    default:
        return !sl_planner_is_busy(planning->planner) &&
               (job->status || planning->cancelled != planning->known_cancelled ||
                planning->ticks->now + 1 >= job->input.first_tick);
    }
}

static void plan_beside(struct sl_planning *planning)
{
    switch (planning->stage) {
    case SL_PLANNING_IDLE:
        /* Allocations lie elsewhere at once: no launch may come before the plan that knows it. */
        if (sl_relayout_is_due(&planning->forecast.relayout, planning->history))
            plan_here(planning);
        else if (begin_forecast(planning))
            planning->stage = SL_PLANNING_FORECAST;
        return;
    case SL_PLANNING_FORECAST:
        if (planning->cancelled == planning->known_cancelled) {
            go_on_forecasting(planning);
            return;
        }
        sl_decision_plan_discarded(SL_CANCEL_MISPREDICTED, planning->forecast.first_tick, 0, false);
        planning->stage = SL_PLANNING_IDLE;
        return;
    default:
        take_plan(planning);
    }
}

/* Where launches make the plans themselves, one that follows no other is carried out at once. */
static void plan_ahead(struct sl_planning *planning)
{
    int before;
    do {
        before = (int)planning->stage;
        plan_beside(planning);
    } while (sl_planner_is_here(planning->planner) && (int)planning->stage != before && has_work(planning));
}

void sl_planning_go_on(struct sl_planning *planning)
{
    if (!planning->budget->pressure || !planning->policy->plans) return;
    if (sl_checks_failed()) { /* what plans are made from may be wrong; chunks come on demand */
        if (atomic_load(&planning->schedule->active)) sl_planning_cancel(planning, SL_CANCEL_CHECK);
        return;
    }
    if (!is_on_its_way(planning) || !knows_place(planning)) return;
    bool beside = planning->planner && !is_first_of_profile(planning);
    if (beside ? !has_work(planning) : !must_plan_now(planning)) return;
    uint64_t start = sl_clock_ns(CLOCK_MONOTONIC);
    if (beside)
        plan_ahead(planning);
    else
        plan_here(planning);
    uint64_t ns = sl_clock_ns(CLOCK_MONOTONIC) - start;
    atomic_fetch_add(&planning->stats->plan_ns, ns);
    if (ns > planning->stats->plan_longest_ns) planning->stats->plan_longest_ns = ns;
}
