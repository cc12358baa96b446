/* Where the program is in what repeats: the present is fed to the predictor, and what follows is planned. */
#include "core.h"
#include "extent.h"
#include "fact.h"
#include "learned.h"
#include "sample.h"

#define ACCESSES_FOR_SYMBOL 8 /* that each symbol pays for when extents are learned from all accesses */

void sl_core_drop_schedule(struct sl_core *core)
{
    pthread_mutex_lock(&core->mover.out.lock);
    pthread_mutex_lock(&core->mover.in.lock);
    core->planning.surprises++;
    sl_schedule_clear(&core->schedule);
    pthread_mutex_unlock(&core->mover.in.lock);
    pthread_mutex_unlock(&core->mover.out.lock);
}

void sl_core_learn_extents(struct sl_core *core)
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
    /* Before it is seen that something repeats, it has; a profile says where it begins. */
    bool late = !core->iteration_end && core->streak == SL_STEADY_STREAK;
    core->iteration_end = core->symbols_fed + period - (late ? SL_STEADY_STREAK : 0);
    sl_core_settle_stalls(core);
    sl_samples_settle(core);
    if (core->pressure)
        sl_mover_measure(&core->mover, !core->daemon, &core->link_in_bytes_per_s,
                         &core->link_out_bytes_per_s);
    sl_core_learn_extents(core);
    sl_stats_next_iteration(&core->stats);
    sl_facts_iteration(core);
    sl_learned_iteration(core);
}

void sl_core_feed(struct sl_core *core, sl_symbol symbol)
{
    bool hit = sl_predictor_feed(core->predictor, symbol);
    if (!hit) sl_trust_ended(&core->trust, core->streak);
    core->streak = hit ? core->streak + 1 : 0;
    core->planning.surprises += !hit;
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

/* What was learned of the program's order is dropped when its tables are full of what does not come again,
 * and learned anew from here on. */
void sl_core_forget(struct sl_core *core)
{
    sl_learned_forget(core);
    sl_core_drop_schedule(core);
    sl_predictor_clear(core->predictor);
    sl_symbols_clear(&core->symbols);
    sl_durations_forget(&core->durations);
    sl_samples_forget(core);
    core->planning.unlearn = true;
    sl_placement_forget(&core->placement);
    core->streak = 0;
    core->iteration_end = 0;
    core->symbols_learned = 0;
    core->face = NULL;
    core->accesses = core->resolved;
    core->access_count = 0;
}
