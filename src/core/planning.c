#include "core/planning.h"

#include "base/clock.h"
#include "base/log.h"
#include "core/core.h"
#include "core/plan_switch.h"
#include "core/planner.h"
#include "launch/extents.h"
#include "move/schedule_pull.h"
#include "move/schedule_take.h"
#include "plan/plan_content.h"
#include "plan/wrong_plan.h"

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

void sl_planning_cancel(struct sl_core *core)
{
    core->planning.mispredictions++;
    sl_schedule_cancel(&core->schedule);
}

void sl_planning_hasten(struct sl_core *core)
{
    struct sl_schedule *schedule = &core->schedule;
    if (core->ticks.now >= core->planning.begun_at + LEAST_AGE && core->ticks.now < schedule->end_tick)
        schedule->end_tick = core->ticks.now;
}

static void say(enum sl_status status)
{
    if (status && status != SL_ERR_UNSUPPORTED)
        sl_warn_once("no plan could be made (%s); chunks are fetched on demand", sl_status_text(status));
}

/* What was learned from the plans before. pre: no plan is being made. */
static struct sl_plan_lessons *lessons(struct sl_core *core)
{
    struct sl_planning *planning = &core->planning;
    if (planning->unlearn) sl_plan_lessons_free(&planning->lessons);
    planning->unlearn = false;
    return &planning->lessons;
}

size_t sl_planning_believed(struct sl_core *core)
{
    uint32_t streak = core->history.streak > SL_CONFIDENCE_LEAST ? core->history.streak : SL_CONFIDENCE_LEAST;
    return sl_confidence_left(&core->history.confidence, streak, sl_history_period(&core->history, false));
}

/* Whether what is predicted is believed in for as far as would be planned. */
static bool is_believed(struct sl_core *core)
{
    const struct sl_schedule *schedule = &core->schedule;
    sl_tick planned = atomic_load(&schedule->active) && schedule->end_tick > core->ticks.now
                          ? schedule->end_tick - core->ticks.now
                          : 0;
    uint64_t chunks = ENOUGH_CHUNKS * core->arena.chunk_bytes, part = core->budget.bytes / ENOUGH_PART;
    sl_confidence_judge(&core->history.confidence, atomic_load(&core->stats.in_by_cause[SL_CAUSE_PLAN]),
                        atomic_load(&core->stats.unused_bytes), chunks < part ? chunks : part);
    return sl_planning_believed(core) >= planned + LEAST_BELIEVED;
}

/* Whether it is worth while to plan where nothing is planned. One plan that follows another is no reason
 * against it: where that one ends is where the unforeseen happened before. */
static bool may_begin_anew(const struct sl_core *core)
{
    return core->ticks.now >= core->planning.begun_anew_at + LAUNCHES_BETWEEN_PLANS;
}

static void note_begin(struct sl_core *core)
{
    core->planning.begun_at = core->ticks.now;
    if (!atomic_load(&core->schedule.active)) core->planning.begun_anew_at = core->ticks.now;
}

/* --- by the launch --- */

static enum sl_status make_plan(struct sl_core *core, struct sl_steps *steps)
{
    struct sl_forecast *forecast = &core->planning.forecast;
    enum sl_status status = sl_forecast_begin(core, forecast);
    if (status == SL_OK) sl_forecast_step(core, forecast, SIZE_MAX, &status);
    if (status) return status;
    struct sl_plan_input input = sl_forecast_input(core, forecast);
    struct sl_plan plan;
    status = sl_plan_make(&input, lessons(core), &plan);
    if (status) return status;
    SL_WRONG_PLAN(&input, &plan);
    status = sl_steps_new(&plan, &input, forecast->served_launches, 0, steps);
    if (core->planning.planner) /* who goes on where this one ends */
        sl_plan_content(&input, &plan, forecast->served_launches, forecast->at_end.content);
    sl_plan_free(&plan);
    return status;
}

/* What a profile foresees is planned before the program has gone far: nothing is on its way yet. */
static bool is_first_of_profile(const struct sl_core *core)
{
    return core->history.primed_symbols && !core->planning.begun_at;
}

static bool must_plan_now(struct sl_core *core)
{
    const struct sl_schedule *schedule = &core->schedule;
    if (is_first_of_profile(core)) return true;
    bool now =
        atomic_load(&schedule->active) ? core->ticks.now + 1 >= schedule->end_tick : may_begin_anew(core);
    return now && is_believed(core);
}

static void plan_here(struct sl_core *core)
{
    struct sl_schedule *schedule = &core->schedule;
    struct sl_steps steps = {0};
    note_begin(core);
    sl_history_learn_extents(core);
    if (!sl_migrator_try_lock(&core->migrator, SL_PATIENCE)) return; /* the next launch does */
    enum sl_status status = make_plan(core, &steps);
    if (status == SL_OK)
        sl_schedule_take(schedule, &steps);
    else
        sl_schedule_clear(schedule);
    sl_schedule_submitted(schedule, sl_ticks_submitted(&core->ticks));
    sl_migrator_unlock(&core->migrator);
    if (status == SL_OK) core->planning.carried_out = atomic_load(&schedule->generation);
    sl_steps_free(&steps);
    say(status);
    atomic_fetch_add(&core->stats.plans, status == SL_OK);
}

/* --- beside the launches --- */

static bool is_time(struct sl_core *core)
{
    const struct sl_planning *planning = &core->planning;
    const struct sl_schedule *schedule = &core->schedule;
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed))
        return may_begin_anew(core) && is_believed(core);
    return core->ticks.now >= planning->begun_at + LAUNCHES_BETWEEN_PLANS &&
           core->ticks.now + schedule->steps.serve * planning->lead_eighths / EIGHTHS >= schedule->end_tick &&
           is_believed(core);
}

/* The work is spread over the first half of what is left, where much is. */
static size_t units_for(const struct sl_core *core)
{
    const struct sl_planning *planning = &core->planning;
    const struct sl_forecast *forecast = &planning->forecast;
    if (!planning->continues) return UNITS_WITHOUT_PLAN;
    size_t left = core->schedule.end_tick > core->ticks.now ? core->schedule.end_tick - core->ticks.now : 1;
    size_t units = 2 * forecast->last_units / left;
    return units > LEAST_UNITS ? units : LEAST_UNITS;
}

static bool begin_forecast(struct sl_core *core)
{
    struct sl_planning *planning = &core->planning;
    const struct sl_schedule *schedule = &core->schedule;
    bool follows =
        atomic_load(&schedule->active) && planning->carried_out == atomic_load(&schedule->generation);
    note_begin(core);
    planning->foreseen = planning->mispredictions;
    planning->refusals = planning->came_count = planning->followed = 0;
    sl_history_learn_extents(core);
    planning->continues = follows && sl_forecast_continue(core, &planning->forecast) == SL_OK;
    enum sl_status status = planning->continues ? SL_OK : sl_forecast_begin(core, &planning->forecast);
    say(status);
    if (status == SL_OK) planning->units = units_for(core);
    return status == SL_OK;
}

static void go_on_forecasting(struct sl_core *core)
{
    struct sl_planning *planning = &core->planning;
    enum sl_status status = SL_OK;
    if (!sl_forecast_step(core, &planning->forecast, planning->units, &status)) return;
    say(status);
    planning->stage = SL_PLANNING_IDLE;
    if (status) return;
    struct sl_plan_job job = {.input = sl_forecast_input(core, &planning->forecast),
                              .serve = planning->forecast.served_launches,
                              .lessons = lessons(core),
                              .at_end = planning->forecast.at_end.content};
    sl_planner_begin(planning->planner, &job);
    planning->stage = SL_PLANNING_MADE;
}

/* Whether the plan is still of use: it was late if what it follows ended before. */
static bool still_serves(struct sl_core *core, const struct sl_plan_job *job)
{
    struct sl_planning *planning = &core->planning;
    if (planning->mispredictions != planning->foreseen) return false;
    if (planning->continues && !planning->refusals && core->ticks.now + 1 > job->input.first_tick) {
        atomic_fetch_add(&core->stats.plans_late, 1);
        if (planning->lead_eighths < EIGHTHS) planning->lead_eighths += MORE_LEAD;
    }
    return core->ticks.now + 1 < job->input.first_tick + job->serve;
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

static void take_plan(struct sl_core *core)
{
    struct sl_planning *planning = &core->planning;
    struct sl_plan_job *job = sl_planner_job(planning->planner);
    if (job->status == SL_OK && still_serves(core, job) && follow_streams(planning, job)) {
        if (!sl_migrator_try_lock(&core->migrator, planning->refusals < MOST_REFUSALS ? 1 : SL_PATIENCE)) {
            planning->refusals += planning->refusals < MOST_REFUSALS;
            return;
        }
        sl_plan_switch(core, job, planning->continues);
        sl_migrator_unlock(&core->migrator);
        planning->carried_out = atomic_load(&core->schedule.generation);
        atomic_fetch_add(&core->stats.plans, 1);
        atomic_fetch_add(&core->stats.plans_again, job->again);
    }
    say(job->status);
    atomic_fetch_add(&core->stats.plan_ns, job->cpu_ns);
    sl_planner_end(planning->planner);
    planning->stage = SL_PLANNING_IDLE;
}

static bool has_work(struct sl_core *core)
{
    const struct sl_planning *planning = &core->planning;
    const struct sl_plan_job *job = sl_planner_job(planning->planner);
    switch (planning->stage) {
    case SL_PLANNING_IDLE:
        return is_time(core);
    case SL_PLANNING_FORECAST:
        return true;
    default:
        return !sl_planner_is_busy(planning->planner) &&
               (job->status || planning->mispredictions != planning->foreseen ||
                core->ticks.now + 1 >= job->input.first_tick);
    }
}

static void plan_beside(struct sl_core *core)
{
    struct sl_planning *planning = &core->planning;
    switch (planning->stage) {
    case SL_PLANNING_IDLE:
        if (begin_forecast(core)) planning->stage = SL_PLANNING_FORECAST;
        return;
    case SL_PLANNING_FORECAST:
        if (planning->mispredictions == planning->foreseen)
            go_on_forecasting(core);
        else
            planning->stage = SL_PLANNING_IDLE;
        return;
    default:
        take_plan(core);
    }
}

/* A misprediction in a place that is known well, where this followed before, is no reason to wait and see. */
static bool knows_place(const struct sl_core *core)
{
    return core->history.streak >= SL_STEADY_STREAK ||
           sl_predictor_match(core->history.predictor) >= SURE_CONTEXT;
}

void sl_planning_go_on(struct sl_core *core)
{
    struct sl_planning *planning = &core->planning;
    if (!core->budget.pressure || !core->policy->plans || !knows_place(core)) return;
    bool beside = planning->planner && !is_first_of_profile(core);
    if (beside ? !has_work(core) : !must_plan_now(core)) return;
    uint64_t start = sl_clock_ns(CLOCK_MONOTONIC);
    if (beside)
        plan_beside(core);
    else
        plan_here(core);
    uint64_t ns = sl_clock_ns(CLOCK_MONOTONIC) - start;
    atomic_fetch_add(&core->stats.plan_ns, ns);
    if (ns > core->stats.plan_longest_ns) core->stats.plan_longest_ns = ns;
}
