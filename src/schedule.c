#include "schedule.h"

#include <stdlib.h>
#include <string.h>

enum sl_status sl_schedule_init(struct sl_schedule *schedule, struct sl_mover *mover)
{
    const struct sl_backend *backend = mover->backend;
    memset(schedule, 0, sizeof *schedule);
    schedule->mover = mover;
    for (int f = 0; f <= SL_FENCES; f++) {
        enum sl_status status = backend->event_new(backend->self, &schedule->fences[f].events[0]);
        if (status) return status;
    }
    return SL_OK;
}

void sl_schedule_close(struct sl_schedule *schedule, bool device_gone)
{
    sl_steps_free(&schedule->steps);
    const struct sl_backend *backend = schedule->mover ? schedule->mover->backend : NULL;
    for (int f = 0; f <= SL_FENCES && backend && !device_gone; f++)
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
    sl_steps_free(&schedule->steps);
}

/* Caller holds out.lock. Stops at a step whose launch was not submitted yet. Steps below `late` are issued by
 * the launch that needs them. */
static void issue_out(struct sl_schedule *schedule, uint32_t until, uint32_t late)
{
    for (uint32_t i = atomic_load(&schedule->next_out); i < until && i < schedule->steps.out_count; i++) {
        const struct sl_step *step = &schedule->steps.out[i];
        if (step->after > atomic_load(&schedule->submitted)) return;
        sl_mover_release(schedule->mover, step->chunk, &schedule->fences[step->waits_for],
                         i < late ? SL_CAUSE_LATE : SL_CAUSE_PLAN);
        atomic_store(&schedule->next_out, i + 1);
    }
}

static uint64_t out_sequence_for(const struct sl_schedule *schedule, const struct sl_step *step)
{
    return sl_mover_room_after(schedule->mover, step->chunk, step->bytes, schedule->steps.budget_bytes);
}

static bool fits(const struct sl_schedule *schedule, const struct sl_step *step)
{
    const struct sl_mover *mover = schedule->mover;
    uint64_t held = atomic_load(&sl_arena_record(mover->arena, step->chunk)->frame_bytes);
    return step->bytes <= held ||
           atomic_load(&mover->occupied_bytes) + step->bytes - held <= schedule->steps.budget_bytes;
}

/* Caller holds in.lock. Stops at a step whose frame was not released yet. `late` as above. */
static void issue_in(struct sl_schedule *schedule, uint32_t until, uint32_t late)
{
    for (uint32_t i = atomic_load(&schedule->next_in); i < until && i < schedule->steps.in_count; i++) {
        const struct sl_step *step = &schedule->steps.in[i];
        if (step->waits_for > atomic_load(&schedule->next_out) || !fits(schedule, step)) return;
        sl_mover_bring(schedule->mover, step->chunk, step->bytes, out_sequence_for(schedule, step),
                       i < late ? SL_CAUSE_LATE : SL_CAUSE_PLAN);
        atomic_store(&schedule->next_in, i + 1);
    }
}

void sl_schedule_issue(struct sl_schedule *schedule, sl_tick tick, bool everything)
{
    struct sl_mover *mover = schedule->mover;
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed) || tick < schedule->steps.first_tick)
        return;
    size_t at = (size_t)(tick - schedule->steps.first_tick);
    if (at > schedule->steps.window) return;
    uint32_t late_in = schedule->steps.need_in[at],
             late_out = late_in ? schedule->steps.in[late_in - 1].waits_for : 0;
    uint32_t in = everything ? schedule->steps.due_in[at] : late_in;
    uint32_t out = everything ? schedule->steps.due_out[at] : late_out;
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

static uint64_t users_of(const struct sl_schedule *schedule, uint32_t i)
{
    return atomic_load(&sl_arena_record(schedule->mover->arena, schedule->steps.out[i].chunk)->users);
}

uint64_t sl_schedule_leaving_users(const struct sl_schedule *schedule, sl_tick tick)
{
    const struct sl_steps *steps = &schedule->steps;
    uint64_t users = 0;
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed)) return 0;
    for (uint32_t i = 0; tick < schedule->begun_at && i < schedule->taken_over; i++)
        if (steps->out[i].after == tick) users |= users_of(schedule, i);
    if (tick + 1 < steps->first_tick) return users;
    size_t at = (size_t)(tick + 1 - steps->first_tick); /* the launch that the leaving makes room for */
    if (at > steps->window) return users;
    for (uint32_t i = at ? steps->due_out[at - 1] : 0; i < steps->due_out[at]; i++)
        users |= users_of(schedule, i);
    return users;
}

struct sl_fence *sl_schedule_fence(struct sl_schedule *schedule, sl_tick tick)
{
    return &schedule->fences[tick % SL_FENCES];
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
    if (atomic_load(&schedule->active) && i < (out ? schedule->steps.out_count : schedule->steps.in_count)) {
        const struct sl_step *step = out ? &schedule->steps.out[i] : &schedule->steps.in[i];
        found = step->after <= atomic_load(&schedule->submitted) &&
                (out || (step->waits_for <= atomic_load(&schedule->next_out) && fits(schedule, step)));
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
