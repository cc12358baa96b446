#include "core/planning.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/test_hooks.h"
#include "core/core.h"
#include "move/steps.h"

#define LAUNCHES_BETWEEN_PLANS 16 /* the least number of launches between the begins of two plans */
/* Work for the next forecast in each launch, in chunks and accesses processed: some microseconds. While no
 * plan is active, about 0.1 ms: what is believed may be over after a few launches. */
#define LEAST_UNITS 256
#define UNITS_WITHOUT_PLAN 16384
#define MOST_REFUSALS                                                                                        \
    64 /* launches in a row that only try the locks once, before one waits for the locks longer */

enum { EIGHTHS = 8, MORE_LEAD = 2 };
/* If allocations strayed since: a part of the launches of the present plan, and at most so many. */
enum { PART_BETWEEN_PLANS = 8, MOST_BETWEEN_PLANS = 256 };
enum { LEAST_BELIEVED = 12 }; /* symbols: a plan for fewer does not pay */
/* Confidence is judged once so many chunks, or such a part of the budget, were prefetched. */
enum { ENOUGH_CHUNKS = 16, ENOUGH_PART = 4 };

static void say(enum sl_status status)
{
    if (status && status != SL_ERR_UNSUPPORTED)
        sl_warn_once("no plan could be made (%s); chunks are fetched on demand", sl_status_text(status));
}

/* What the previous plans learned. Precondition: no plan is being made. */
static struct sl_plan_lessons *lessons(struct sl_planning *planning)
{
    if (planning->unlearn) sl_plan_lessons_free(&planning->lessons);
    planning->unlearn = false;
    return &planning->lessons;
}

/* Judges the predictions of late. Returns whether they are trusted for longer than the active plan covers. */
static bool judge(struct sl_planning *planning)
{
    const struct sl_schedule *schedule = &planning->core->schedule;
    sl_tick planned = atomic_load(&schedule->active) && schedule->end_tick > planning->core->history.ticks.now
                          ? schedule->end_tick - planning->core->history.ticks.now
                          : 0;
    uint64_t chunks = ENOUGH_CHUNKS * planning->core->arena.chunk_bytes,
             part = planning->core->budget.bytes / ENOUGH_PART;
    sl_confidence_judge(&planning->core->history.confidence,
                        atomic_load(&planning->core->stats.total.bytes_in[SL_CAUSE_PLAN]),
                        atomic_load(&planning->core->stats.unused_bytes), chunks < part ? chunks : part);
    return sl_history_believed(&planning->core->history) >= planned + LEAST_BELIEVED;
}

/* The first plan of a profile is made before the first launch needs it. */
static bool is_first_of_profile(const struct sl_planning *planning)
{
    return planning->core->history.primed_symbols && !planning->begun_at;
}

/* Holds back the first plan of a simulated run: see sl_backend.first_plan_late. Returns whether it still is.
 */
static bool delay_first(struct sl_planning *planning)
{
    if (planning->begun_at || planning->first_late <= 0) return false;
    uint64_t fed = planning->core->history.fed;
    if (!planning->first_from) planning->first_from = fed;
    double late = planning->first_late * (double)sl_forecast_served_symbols(&planning->forecast);
    return (double)(fed - planning->first_from) < late;
}

/* Whether another plan is needed for where allocations will lie, or lie now: where sizes vary, many may lie
 * in other chunks than the last one knows, and it is worth another one after so many launches. */
static bool has_strayed(const struct sl_planning *planning)
{
    const struct sl_history *history = &planning->core->history;
    if (planning->known_layouts != planning->relayout.done) return true;
    if (!history->vary || planning->forecast.strays == history->strays) return false;
    size_t between = planning->core->schedule.steps.serve / PART_BETWEEN_PLANS;
    if (between < LAUNCHES_BETWEEN_PLANS) between = LAUNCHES_BETWEEN_PLANS;
    if (between > MOST_BETWEEN_PLANS) between = MOST_BETWEEN_PLANS;
    return history->ticks.now >= planning->begun_at + between;
}

/* A thread of the planner's looks for places beside the launches. */
static bool looks_for_places_itself(const struct sl_planning *planning)
{
    return planning->planner && !sl_planner_is_here(planning->planner);
}

/* When this launch gives allocations other places, the plan must know that before the next one. */
static bool relays_now(struct sl_planning *planning)
{
    return !looks_for_places_itself(planning) &&
           sl_relayout_is_due(&planning->relayout, &planning->core->history);
}

/* Returns whether a plan has to begin now. */
static bool find_time(struct sl_planning *planning)
{
    const struct sl_schedule *schedule = &planning->core->schedule;
    sl_tick now = planning->core->history.ticks.now;
    if (is_first_of_profile(planning)) return true;
    /* While none is active, plans that followed another one do not count: such plans often end where
     * mispredictions happen. */
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed))
        return now >= planning->begun_anew_at + LAUNCHES_BETWEEN_PLANS && judge(planning) &&
               !delay_first(planning);
    if (planning->planner && relays_now(planning)) return judge(planning);
    size_t serve = schedule->steps.serve,
           lead = planning->lead_eighths ? serve * planning->lead_eighths / EIGHTHS : 1;
    if (has_strayed(planning)) return judge(planning);
    return (!planning->planner || now >= planning->begun_at + LAUNCHES_BETWEEN_PLANS) &&
           now + lead >= schedule->end_tick && judge(planning);
}

/* --- forecast --- */

static void note_begin(struct sl_planning *planning)
{
    bool active = atomic_load(&planning->core->schedule.active);
    sl_decision_plan_begun(is_first_of_profile(planning) ? SL_BEGIN_PROFILE
                           : active                      ? SL_BEGIN_FOLLOWS
                                                         : SL_BEGIN_ANEW,
                           planning->core->history.ticks.now);
    planning->begun_at = planning->core->history.ticks.now;
    if (!active) planning->begun_anew_at = planning->core->history.ticks.now;
    planning->known_mispredictions = planning->mispredictions;
    planning->known_cancelled = planning->cancelled;
    planning->known_layouts = planning->relayout.done;
    planning->refusals = planning->came_count = planning->followed = 0;
}

/* Whether the active plan is the last forecast's, and nothing was mispredicted since. */
static bool holds(const struct sl_planning *planning)
{
    return atomic_load(&planning->core->schedule.active) &&
           planning->carried_out == atomic_load(&planning->core->schedule.generation) &&
           planning->known_mispredictions == planning->mispredictions;
}

/* `may_continue`: the forecast may begin at the end of the active plan, instead of with the chunks as they
 * are. */
static enum sl_status begin_forecast(struct sl_planning *planning, bool may_continue)
{
    bool follows = may_continue && holds(planning) && planning->known_layouts == planning->relayout.done;
    if (relays_now(planning)) sl_relayout(&planning->relayout, planning->core, planning->planner);
    note_begin(planning);
    sl_extents_learn_if_due(&planning->core->scanner, planning->core->history.fed);
    planning->continues = follows && SL_HAS(CONTINUE) && sl_forecast_continue(&planning->forecast) == SL_OK;
    return planning->continues ? SL_OK : sl_forecast_begin(&planning->forecast);
}

/* Spreads the forecast over the first half of the launches that are left in the active plan. */
static size_t units_for(const struct sl_planning *planning)
{
    const struct sl_forecast *forecast = &planning->forecast;
    if (!planning->lead_eighths) return SIZE_MAX;
    if (!planning->continues) return UNITS_WITHOUT_PLAN;
    size_t left = planning->core->schedule.end_tick > planning->core->history.ticks.now
                      ? planning->core->schedule.end_tick - planning->core->history.ticks.now
                      : 1;
    size_t units = 2 * forecast->last_units / left;
    return units > LEAST_UNITS ? units : LEAST_UNITS;
}

/* --- plan, and lay out --- */

static struct sl_plan_job job_for(struct sl_planning *planning)
{
    return (struct sl_plan_job){.input = sl_forecast_input(&planning->forecast),
                                .serve = planning->forecast.served_launches,
                                .lessons = lessons(planning),
                                .at_end = planning->forecast.at_end.content};
}

static void go_on_forecasting(struct sl_planning *planning)
{
    enum sl_status status = SL_OK;
    if (!sl_forecast_step(&planning->forecast, planning->units, &status)) return;
    say(status);
    planning->stage = SL_PLANNING_IDLE;
    if (status) return;
    struct sl_plan_job job = job_for(planning);
    sl_planner_begin(planning->planner, &job);
    planning->stage = SL_PLANNING_PLAN;
}

/* --- switch --- */

/* Counts a plan as late if the plan that it follows ended before it was ready. */
static void note_late(struct sl_planning *planning, const struct sl_plan_job *job)
{
    if (!planning->continues || planning->refusals ||
        planning->core->history.ticks.now + 1 <= job->input.first_tick)
        return;
    atomic_fetch_add(&planning->core->stats.plans_late, 1);
    if (planning->lead_eighths < EIGHTHS) planning->lead_eighths += MORE_LEAD;
}

/* Reorders the plan's steps as the streams' launches came since the forecast began. */
static bool follow_streams(struct sl_planning *planning, struct sl_plan_job *job)
{
    for (; job->input.histories && planning->followed < planning->came_count; planning->followed++)
        if (!sl_steps_pull(&job->steps, job->input.first_tick + planning->followed,
                           planning->came[planning->followed]))
            return false;
    return true;
}

/* A misprediction happened since the forecast began: shifts the plan to where the program continues it.
 * False: the program does not. */
static bool catch_up(struct sl_planning *planning, struct sl_plan_job *job)
{
    int64_t delay;
    if (!job->steps.symbols || !SL_HAS(GOES_ON) || planning->cancelled != planning->known_cancelled ||
        !sl_plan_delay(planning->core->history.predictor, planning->core->scanner.symbols, &job->steps,
                       planning->core->history.ticks.now + 1, &delay))
        return false;
    sl_steps_delay(&job->steps, delay);
    job->input.first_tick += (sl_tick)delay;
    planning->known_mispredictions = planning->mispredictions;
    return planning->core->history.ticks.now + 1 >= job->input.first_tick;
}

/* Whether the finished plan is still useful; else *why says why not. */
static bool still_serves(struct sl_planning *planning, struct sl_plan_job *job, enum sl_cancel_reason *why)
{
    *why = SL_CANCEL_FAILED;
    if (job->status) return false;
    *why = SL_CANCEL_MISPREDICTED;
    if (planning->mispredictions != planning->known_mispredictions && !catch_up(planning, job)) return false;
    note_late(planning, job);
    *why = SL_CANCEL_LATE;
    if (planning->core->history.ticks.now + 1 >= job->input.first_tick + job->serve) return false;
    *why = SL_CANCEL_STREAMS;
    return follow_streams(planning, job);
}

/* False: a direction's lock is taken, so the next launch tries again. */
static bool switch_to(struct sl_planning *planning, struct sl_plan_job *job, unsigned patience)
{
    enum sl_cancel_reason why;
    if (!still_serves(planning, job, &why)) {
        sl_decision_plan_discarded(why, job->input.first_tick, job->serve, false);
        say(job->status);
        return true;
    }
    /* Rule 4 of docs/concurrency.md */
    if (!sl_migrator_try_lock(&planning->core->migrator, patience)) return false;
    sl_plan_switch(planning, job, planning->continues && !planning->lacked);
    sl_migrator_unlock(&planning->core->migrator);
    planning->carried_out = atomic_load(&planning->core->schedule.generation);
    planning->lacked = planning->lacked_astray = false;
    atomic_fetch_add(&planning->core->stats.plans, 1);
    sl_decision_plan_switch(&planning->core->schedule);
    return true;
}

static void switch_or_wait(struct sl_planning *planning)
{
    struct sl_plan_job *job = sl_planner_job(planning->planner);
    if (!switch_to(planning, job, planning->refusals < MOST_REFUSALS ? 1 : SL_PATIENCE)) {
        planning->refusals += planning->refusals < MOST_REFUSALS;
        return;
    }
    if (!sl_planner_is_here(planning->planner)) atomic_fetch_add(&planning->core->stats.plan_ns, job->cpu_ns);
    sl_planner_end(planning->planner);
    planning->stage = SL_PLANNING_IDLE;
}

/* --- the stages in order --- */

/* Runs all stages within this launch. */
static void plan_at_once(struct sl_planning *planning)
{
    struct sl_plan_job job = {0};
    job.status = begin_forecast(planning, false);
    if (job.status == SL_OK) sl_forecast_step(&planning->forecast, SIZE_MAX, &job.status);
    if (job.status == SL_OK) {
        job = job_for(planning);
        sl_plan_job_make(&job);
    }
    if (job.status) sl_schedule_cancel(&planning->core->schedule);
    switch_to(planning, &job, SL_PATIENCE);
    sl_plan_job_free(&job);
}

static void begin(struct sl_planning *planning)
{
    if (!planning->planner || is_first_of_profile(planning) || relays_now(planning)) {
        plan_at_once(planning);
        return;
    }
    enum sl_status status = begin_forecast(planning, true);
    say(status);
    if (status) return;
    planning->units = units_for(planning);
    planning->stage = SL_PLANNING_FORECAST;
}

/* The next plan may wait for the end of a long one that does not know where allocations lie now, nor does it.
 */
static void drop_what_strayed(struct sl_planning *planning)
{
    if (planning->stage != SL_PLANNING_PLAN || !has_strayed(planning) ||
        sl_planner_is_busy(planning->planner))
        return;
    const struct sl_plan_job *job = sl_planner_job(planning->planner);
    sl_decision_plan_discarded(SL_CANCEL_MISPREDICTED, job->input.first_tick, job->serve, false);
    sl_planner_end(planning->planner);
    planning->stage = SL_PLANNING_IDLE;
}

static bool find_work(struct sl_planning *planning)
{
    switch (planning->stage) {
    case SL_PLANNING_IDLE:
        return find_time(planning);
    case SL_PLANNING_FORECAST:
        return true;
    default: {
        const struct sl_plan_job *job = sl_planner_job(planning->planner);
        return !sl_planner_is_busy(planning->planner) &&
               (job->status || planning->cancelled != planning->known_cancelled ||
                planning->core->history.ticks.now + 1 >= job->input.first_tick);
    }
    }
}

static void do_stage(struct sl_planning *planning)
{
    switch (planning->stage) {
    case SL_PLANNING_IDLE:
        begin(planning);
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
        switch_or_wait(planning);
    }
}

void sl_planning_go_on(struct sl_planning *planning)
{
    if (!planning->core->budget.pressure || !planning->core->policy->plans) return;
    if (sl_checks_failed()) { /* the plans' input may be wrong, so chunks are fetched on demand */
        if (atomic_load(&planning->core->schedule.active)) sl_planning_cancel(planning, SL_CANCEL_CHECK);
        return;
    }
    if (!sl_planning_find_way(planning) || !sl_planning_knows_place(planning)) return;
    sl_relayout_go_on(&planning->relayout, planning->planner);
    drop_what_strayed(planning);
    bool looks = looks_for_places_itself(planning) &&
                 sl_relayout_is_due(&planning->relayout, &planning->core->history) && judge(planning);
    bool works = find_work(planning);
    if (!looks && !works) return;
    uint64_t start = sl_clock_ns(CLOCK_MONOTONIC);
    if (looks) sl_relayout(&planning->relayout, planning->core, planning->planner);
    while (works) {
        int before = (int)planning->stage;
        do_stage(planning);
        /* Inline mode: a plan that follows no other takes over at once. */
        works =
            (int)planning->stage != before && sl_planner_is_here(planning->planner) && find_work(planning);
    }
    uint64_t ns = sl_clock_ns(CLOCK_MONOTONIC) - start;
    atomic_fetch_add(&planning->core->stats.plan_ns, ns);
    if (ns > planning->core->stats.plan_longest_ns) planning->core->stats.plan_longest_ns = ns;
}
