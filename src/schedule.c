#include "schedule.h"

#include <stdlib.h>
#include <string.h>

enum sl_status sl_schedule_init(struct sl_schedule *schedule, struct sl_mover *mover)
{
    const struct sl_backend *backend = mover->backend;
    memset(schedule, 0, sizeof *schedule);
    schedule->mover = mover;
    for (int f = 0; f < SL_FENCES; f++) {
        enum sl_status status = backend->event_new(backend->self, &schedule->fences[f].events[0]);
        if (status) return status;
    }
    return SL_OK;
}

static void free_steps(struct sl_schedule *schedule)
{
    free(schedule->out_steps);
    free(schedule->in_steps);
    free(schedule->out_sequences);
    free(schedule->due_out);
    free(schedule->due_in);
    free(schedule->need_in);
    schedule->out_steps = schedule->in_steps = NULL;
    schedule->out_sequences = NULL;
    schedule->due_out = schedule->due_in = schedule->need_in = NULL;
    schedule->out_count = schedule->in_count = 0;
}

void sl_schedule_close(struct sl_schedule *schedule, bool device_gone)
{
    free_steps(schedule);
    const struct sl_backend *backend = schedule->mover ? schedule->mover->backend : NULL;
    for (int f = 0; f < SL_FENCES && backend && !device_gone; f++)
        for (int s = 0; s < SL_STREAMS; s++)
            if (schedule->fences[f].events[s])
                backend->event_delete(backend->self, schedule->fences[f].events[s]);
    memset(schedule, 0, sizeof *schedule);
}

void sl_schedule_clear(struct sl_schedule *schedule)
{
    atomic_store(&schedule->active, false);
    atomic_fetch_add(&schedule->generation, 1);
    atomic_store(&schedule->next_out, 0);
    atomic_store(&schedule->next_in, 0);
    free_steps(schedule);
}

static bool is_out(const struct sl_plan_action *action)
{
    return action->kind != SL_ACTION_FETCH && action->kind != SL_ACTION_POPULATE;
}

/* Releases after the same tick share a fence. */
static uint32_t fence_of(sl_tick after)
{
    return (uint32_t)(after % SL_FENCES);
}

static bool reserve_steps(struct sl_schedule *schedule, size_t actions, size_t window)
{
    schedule->out_steps = calloc(actions + 1, sizeof *schedule->out_steps);
    schedule->in_steps = calloc(actions + 1, sizeof *schedule->in_steps);
    schedule->out_sequences = calloc(actions + 1, sizeof *schedule->out_sequences);
    schedule->due_out = calloc(window + 1, sizeof *schedule->due_out);
    schedule->due_in = calloc(window + 1, sizeof *schedule->due_in);
    schedule->need_in = calloc(window + 1, sizeof *schedule->need_in);
    return schedule->out_steps && schedule->in_steps && schedule->out_sequences && schedule->due_out &&
           schedule->due_in && schedule->need_in;
}

/* Counts a step towards every launch after `after` (due) or from `deadline` on (needed): first as a
 * difference at that launch, summed up by the caller. Clamped to the window. */
static void count_from(uint32_t *table, size_t window, sl_tick first_tick, sl_tick tick)
{
    size_t at = tick <= first_tick ? 0 : (size_t)(tick - first_tick);
    if (at <= window) table[at]++;
}

enum sl_status sl_schedule_install(struct sl_schedule *schedule, const struct sl_plan *plan,
                                   sl_tick first_tick, size_t window, size_t serve,
                                   const uint64_t *chunk_bytes)
{
    sl_schedule_clear(schedule);
    uint32_t *release_of = calloc(plan->action_count + 1, sizeof *release_of);
    if (!release_of || !reserve_steps(schedule, plan->action_count, window)) {
        free(release_of);
        free_steps(schedule);
        return SL_ERR_NO_MEMORY;
    }
    uint32_t waits_for = 0; /* frames are promised in order, so is what a fetch waits for */
    for (size_t a = 0; a < plan->action_count; a++) {
        const struct sl_plan_action *action = &plan->actions[a];
        struct sl_step step = {action->chunk, action->after, chunk_bytes[action->chunk], 0};
        if (is_out(action)) {
            step.waits_for = fence_of(action->after);
            release_of[a] = schedule->out_count;
            schedule->out_steps[schedule->out_count++] = step;
            count_from(schedule->due_out, window, first_tick, action->after + 1);
        } else {
            if (action->frame_from != SL_NO_ACTION && release_of[action->frame_from] + 1 > waits_for)
                waits_for = release_of[action->frame_from] + 1;
            step.waits_for = waits_for;
            schedule->in_steps[schedule->in_count++] = step;
            count_from(schedule->due_in, window, first_tick, action->after + 1);
            count_from(schedule->need_in, window, first_tick, action->deadline);
        }
    }
    free(release_of);
    for (size_t t = 1; t <= window; t++) {
        schedule->due_out[t] += schedule->due_out[t - 1];
        schedule->due_in[t] += schedule->due_in[t - 1];
        schedule->need_in[t] += schedule->need_in[t - 1];
    }
    schedule->first_tick = first_tick;
    schedule->end_tick = first_tick + serve;
    schedule->window = window;
    schedule->base_out = atomic_load(&schedule->mover->out.issued);
    atomic_store(&schedule->active, true);
    return SL_OK;
}

/* Caller holds out.lock. Stops at a step whose launch was not submitted yet. Steps below `late` are issued by
 * the launch that needs them. */
static void issue_out(struct sl_schedule *schedule, uint32_t until, uint32_t late)
{
    for (uint32_t i = atomic_load(&schedule->next_out); i < until && i < schedule->out_count; i++) {
        const struct sl_step *step = &schedule->out_steps[i];
        if (step->after > atomic_load(&schedule->submitted)) return;
        schedule->out_sequences[i] =
            sl_mover_release(schedule->mover, step->chunk, &schedule->fences[step->waits_for],
                             i < late ? SL_CAUSE_LATE : SL_CAUSE_PLAN);
        if (!schedule->out_sequences[i])
            schedule->out_sequences[i] = atomic_load(&schedule->mover->out.issued);
        atomic_store(&schedule->next_out, i + 1);
    }
}

static uint64_t out_sequence_for(const struct sl_schedule *schedule, const struct sl_step *step)
{
    uint64_t sequence = step->waits_for ? schedule->out_sequences[step->waits_for - 1] : 0;
    return sequence > schedule->base_out ? sequence : schedule->base_out;
}

/* Caller holds in.lock. Stops at a step whose frame was not released yet. `late` as above. */
static void issue_in(struct sl_schedule *schedule, uint32_t until, uint32_t late)
{
    for (uint32_t i = atomic_load(&schedule->next_in); i < until && i < schedule->in_count; i++) {
        const struct sl_step *step = &schedule->in_steps[i];
        if (step->waits_for > atomic_load(&schedule->next_out)) return;
        sl_mover_bring(schedule->mover, step->chunk, step->bytes, out_sequence_for(schedule, step),
                       i < late ? SL_CAUSE_LATE : SL_CAUSE_PLAN);
        atomic_store(&schedule->next_in, i + 1);
    }
}

void sl_schedule_issue(struct sl_schedule *schedule, sl_tick tick, bool everything)
{
    struct sl_mover *mover = schedule->mover;
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed) || tick < schedule->first_tick) return;
    size_t at = (size_t)(tick - schedule->first_tick);
    if (at > schedule->window) return;
    uint32_t late_in = schedule->need_in[at],
             late_out = late_in ? schedule->in_steps[late_in - 1].waits_for : 0;
    uint32_t in = everything ? schedule->due_in[at] : late_in;
    uint32_t out = everything ? schedule->due_out[at] : late_out;
    if (out > atomic_load_explicit(&schedule->next_out, memory_order_relaxed)) {
        pthread_mutex_lock(&mover->out.lock);
        issue_out(schedule, out, late_out);
        pthread_mutex_unlock(&mover->out.lock);
    }
    if (in > atomic_load_explicit(&schedule->next_in, memory_order_relaxed)) {
        pthread_mutex_lock(&mover->in.lock);
        issue_in(schedule, in, late_in);
        pthread_mutex_unlock(&mover->in.lock);
    }
}

uint64_t sl_schedule_leaving_users(const struct sl_schedule *schedule, sl_tick tick)
{
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed) || tick + 1 < schedule->first_tick)
        return 0;
    size_t at = (size_t)(tick + 1 - schedule->first_tick); /* the launch that the leaving makes room for */
    if (at > schedule->window) return 0;
    uint64_t users = 0;
    for (uint32_t i = at ? schedule->due_out[at - 1] : 0; i < schedule->due_out[at]; i++)
        users |= atomic_load(&sl_arena_record(schedule->mover->arena, schedule->out_steps[i].chunk)->users);
    return users;
}

struct sl_fence *sl_schedule_fence(struct sl_schedule *schedule, sl_tick tick)
{
    return &schedule->fences[fence_of(tick)];
}

void sl_schedule_submitted(struct sl_schedule *schedule, sl_tick tick)
{
    atomic_store(&schedule->submitted, tick);
}

bool sl_schedule_peek(struct sl_schedule *schedule, bool out, struct sl_pending *pending)
{
    struct sl_direction *direction = out ? &schedule->mover->out : &schedule->mover->in;
    bool found = false;
    if (!atomic_load(&schedule->active)) return false;
    pthread_mutex_lock(&direction->lock);
    uint32_t i = atomic_load(out ? &schedule->next_out : &schedule->next_in);
    if (atomic_load(&schedule->active) && i < (out ? schedule->out_count : schedule->in_count)) {
        const struct sl_step *step = out ? &schedule->out_steps[i] : &schedule->in_steps[i];
        found = step->after <= atomic_load(&schedule->submitted) &&
                (out || step->waits_for <= atomic_load(&schedule->next_out));
        *pending = (struct sl_pending){
            .generation = atomic_load(&schedule->generation), .index = i, .chunk = step->chunk};
        if (found && out) pending->fence = &schedule->fences[step->waits_for];
        if (found && !out) pending->out_sequence = out_sequence_for(schedule, step);
    }
    pthread_mutex_unlock(&direction->lock);
    return found;
}

void sl_schedule_issue_pending(struct sl_schedule *schedule, bool out, const struct sl_pending *pending)
{
    struct sl_direction *direction = out ? &schedule->mover->out : &schedule->mover->in;
    pthread_mutex_lock(&direction->lock);
    if (atomic_load(&schedule->active) && atomic_load(&schedule->generation) == pending->generation) {
        if (out && atomic_load(&schedule->next_out) == pending->index)
            issue_out(schedule, pending->index + 1, 0);
        else if (!out && atomic_load(&schedule->next_in) == pending->index)
            issue_in(schedule, pending->index + 1, 0);
    }
    pthread_mutex_unlock(&direction->lock);
}
