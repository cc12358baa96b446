/* Where the program is in what repeats: the present is fed to the predictor, and what follows is planned. */
#include "clock.h"
#include "core.h"
#include "extent.h"
#include "fact.h"
#include "forecast.h"
#include "log.h"
#include "sample.h"

#define PERIODS 3 /* that are planned at once: the end of a plan does not know what comes next */
#define LAUNCHES_BETWEEN_PLANS 16 /* while surprises are frequent */
#define LEAST_WINDOW 512
#define LARGEST_WINDOW ((size_t)1 << 18)
#define ACCESSES_FOR_SYMBOL 8 /* that each symbol pays for when extents are learned from all accesses */

void sl_core_drop_schedule(struct sl_core *core)
{
    pthread_mutex_lock(&core->mover.out.lock);
    pthread_mutex_lock(&core->mover.in.lock);
    sl_schedule_clear(&core->schedule);
    pthread_mutex_unlock(&core->mover.in.lock);
    pthread_mutex_unlock(&core->mover.out.lock);
}

/* Not more often than the launches since the last time pay for: a program that always does something new
 * would else look at all that it ever did, again and again. */
static void learn_extents(struct sl_core *core)
{
    if (core->symbols_fed - core->learned_at < core->symbols.access_count / ACCESSES_FOR_SYMBOL) return;
    core->learned_at = core->symbols_fed;
    sl_extents_learn(core);
}

/* An iteration is one period of the predicted string; before anything is predicted, all is the first one. */
static void count_iterations(struct sl_core *core, bool hit)
{
    core->symbols_fed++;
    if (!hit || core->streak < SL_STEADY_STREAK) return;
    uint64_t period = sl_predictor_period(core->predictor);
    if (!period || core->symbols_fed < core->iteration_end) return;
    core->iteration_end =
        core->iteration_end ? core->symbols_fed + period : core->symbols_fed - core->streak + period;
    sl_core_settle_stalls(core);
    sl_samples_settle(core);
    if (core->pressure)
        sl_mover_measure(&core->mover, !core->daemon, &core->link_in_bytes_per_s,
                         &core->link_out_bytes_per_s);
    learn_extents(core);
    sl_stats_next_iteration(&core->stats);
    sl_facts_iteration(core);
}

void sl_core_feed(struct sl_core *core, sl_symbol symbol)
{
    bool hit = sl_predictor_feed(core->predictor, symbol);
    core->streak = hit ? core->streak + 1 : 0;
    if (!hit && atomic_load_explicit(&core->schedule.active, memory_order_relaxed)) {
        atomic_fetch_add(&core->stats.surprises, 1);
        sl_core_drop_schedule(core);
    }
    count_iterations(core, hit);
}

sl_tick sl_core_submitted(const struct sl_core *core)
{
    sl_tick until = core->tick;
    for (int i = 0; i < SL_OPEN_LAUNCHES; i++) {
        sl_tick open = atomic_load_explicit(&core->open[i], memory_order_acquire);
        if (open && open <= until) until = open - 1;
    }
    return until;
}

void sl_core_plan(struct sl_core *core)
{
    struct sl_schedule *schedule = &core->schedule;
    if (!core->pressure || !core->policy->plans || core->streak < SL_STEADY_STREAK) return;
    if (atomic_load(&schedule->active) && core->tick + 1 < schedule->end_tick) return;
    if (!atomic_load(&schedule->active) && core->tick < core->planned_at + LAUNCHES_BETWEEN_PLANS) return;
    size_t window = PERIODS * sl_predictor_period(core->predictor), serve = 0;
    if (window < LEAST_WINDOW) window = LEAST_WINDOW;
    if (window > LARGEST_WINDOW) window = LARGEST_WINDOW;
    core->planned_at = core->tick;
    learn_extents(core);
    uint64_t start = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct sl_plan_input input;
    struct sl_plan plan = {0};
    pthread_mutex_lock(&core->mover.out.lock);
    pthread_mutex_lock(&core->mover.in.lock);
    enum sl_status status = sl_forecast(core, window, &input, &serve);
    if (status == SL_OK) status = sl_plan_make(&input, &core->lessons, &plan);
    if (status == SL_OK)
        status = sl_schedule_install(schedule, &plan, input.first_tick, input.launch_count, serve,
                                     input.chunk_bytes);
    if (status) sl_schedule_clear(schedule);
    sl_schedule_submitted(schedule, sl_core_submitted(core));
    pthread_mutex_unlock(&core->mover.in.lock);
    pthread_mutex_unlock(&core->mover.out.lock);
    sl_plan_free(&plan);
    if (status && status != SL_ERR_UNSUPPORTED)
        sl_warn_once("no plan could be made (%s); chunks are fetched on demand", sl_status_text(status));
    atomic_fetch_add(&core->stats.plans, status == SL_OK);
    atomic_fetch_add(&core->stats.plan_ns, sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

/* What was learned of the program's order is dropped when its tables are full of what does not come again,
 * and learned anew from here on. */
void sl_core_forget(struct sl_core *core)
{
    sl_core_drop_schedule(core);
    sl_predictor_clear(core->predictor);
    sl_symbols_clear(&core->symbols);
    sl_durations_forget(&core->durations);
    sl_samples_forget(core);
    sl_placement_forget(&core->placement);
    sl_plan_lessons_free(&core->lessons);
    core->streak = 0;
    core->iteration_end = 0;
    core->symbols_learned = 0;
    core->face = NULL;
    core->accesses = core->resolved;
    core->access_count = 0;
}
