#include "move/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "move/move_valid.h"
#include "move/steps.h"

enum sl_status sl_schedule_init(struct sl_schedule *schedule, struct sl_migrator *migrator)
{
    memset(schedule, 0, sizeof *schedule);
    schedule->migrator = migrator;
    return sl_fences_init(&schedule->fences, migrator->backend);
}

void sl_schedule_close(struct sl_schedule *schedule, bool device_gone)
{
    sl_steps_free(&schedule->steps);
    sl_fences_close(&schedule->fences, device_gone);
    memset(schedule, 0, sizeof *schedule);
}

void sl_schedule_cancel(struct sl_schedule *schedule)
{
    atomic_store(&schedule->active, false);
    atomic_fetch_add(&schedule->generation, 1);
}

void sl_schedule_clear(struct sl_schedule *schedule)
{
    atomic_store(&schedule->active, false);
    atomic_fetch_add(&schedule->generation, 1);
    atomic_store(&schedule->next_out, 0);
    atomic_store(&schedule->next_in, 0);
    sl_steps_free(&schedule->steps);
}

/* Whether the step must wait for the program to free the chunk's memory, which it does before its next
 * launch, if at all. A copy would be useless. */
static bool is_to_be_freed(const struct sl_schedule *schedule, const struct sl_step *step,
                           enum sl_chunk_content alive)
{
    return step->dead && step->after >= atomic_load(&schedule->begun) &&
           atomic_load(&sl_arena_record(schedule->migrator->arena, step->chunk)->content) == (int)alive;
}

static bool may_leave(const struct sl_schedule *schedule, const struct sl_step *step)
{
    return step->after <= atomic_load(&schedule->submitted) &&
           !is_to_be_freed(schedule, step, SL_CONTENT_RESIDENT);
}

static bool is_in_arena(const struct sl_schedule *schedule, const struct sl_step *step)
{
    return SL_CHECK(step->chunk < sl_arena_chunk_count(schedule->migrator->arena));
}

bool sl_schedule_is_open(const struct sl_schedule *schedule, sl_chunk c)
{
    const struct sl_migrator *migrator = schedule->migrator;
    const struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, c);
    return atomic_load(&chunk->content) == SL_CONTENT_RESIDENT_DEAD && migrator->frees &&
           sl_frees_are_open(migrator->frees, chunk->address, chunk->address + migrator->arena->chunk_bytes);
}

enum patience {
    IMPATIENT,
    PATIENT, /* stops at a dead chunk that would be copied because its frees lie behind a collective that is
                not over */
    WAITED   /* the caller has waited for the fence */
};

/* Caller holds out.lock. Stops at a step whose launch was not submitted yet. */
static void issue_out(struct sl_schedule *schedule, uint32_t until, enum sl_move_cause cause,
                      enum patience patience)
{
    for (uint32_t i = atomic_load(&schedule->next_out); i < until && i < schedule->steps.out_count; i++) {
        if (!atomic_load(&schedule->active)) return;
        const struct sl_step *step = &schedule->steps.out[i];
        if (!is_in_arena(schedule, step) || !may_leave(schedule, step) ||
            sl_schedule_is_open(schedule, step->chunk) ||
            (patience == PATIENT && sl_migrator_is_behind_peers(schedule->migrator, step->chunk)))
            return;
        struct sl_fence *fence = patience == WAITED ? NULL : sl_fences_find(&schedule->fences, step->after);
        sl_migrator_evict(schedule->migrator, step->chunk, fence, cause);
        atomic_store(&schedule->next_out, i + 1);
    }
}

static uint64_t out_sequence_for(const struct sl_schedule *schedule, const struct sl_step *step)
{
    return sl_migrator_room_after(schedule->migrator, step->chunk, step->bytes, schedule->steps.budget_bytes);
}

static bool fits(const struct sl_schedule *schedule, const struct sl_step *step)
{
    const struct sl_migrator *migrator = schedule->migrator;
    uint64_t held = atomic_load(&sl_arena_record(migrator->arena, step->chunk)->frame_bytes);
    return step->bytes <= held ||
           atomic_load(&migrator->occupied_bytes) + step->bytes - held <= schedule->steps.budget_bytes;
}

static bool may_come(const struct sl_schedule *schedule, const struct sl_step *step)
{
    return step->waits_for <= atomic_load(&schedule->next_out) && fits(schedule, step) &&
           !is_to_be_freed(schedule, step, SL_CONTENT_HOST);
}

/* Whether the chunk has a frame that the step makes larger. */
static bool grows(const struct sl_schedule *schedule, const struct sl_step *step)
{
    uint64_t held = atomic_load(&sl_arena_record(schedule->migrator->arena, step->chunk)->frame_bytes);
    return held && step->bytes > held;
}

/* Caller holds in.lock, or both locks. Stops at a step whose frame is not free yet. Without both locks it
 * also stops at a step that makes a frame grow, since an eviction would take the frame meanwhile, and at one
 * before which the chunk is discarded; only then it returns true. */
static bool issue_in(struct sl_schedule *schedule, uint32_t until, bool both, enum sl_move_cause cause)
{
    for (uint32_t i = atomic_load(&schedule->next_in); i < until && i < schedule->steps.in_count; i++) {
        if (!atomic_load(&schedule->active)) return false;
        const struct sl_step *step = &schedule->steps.in[i];
        if (!is_in_arena(schedule, step) || !may_come(schedule, step)) return false;
        bool discards = sl_migrator_may_discard(schedule->migrator, step->chunk);
        if (!both && (discards || grows(schedule, step))) return true;
        if (discards) sl_migrator_discard(schedule->migrator, step->chunk);
        sl_migrator_fetch(schedule->migrator, step->chunk, step->bytes, out_sequence_for(schedule, step),
                          cause);
        atomic_store(&schedule->next_in, i + 1);
    }
    return false;
}

/* Rule 5 of docs/concurrency.md */
static bool is_current(const struct sl_schedule *schedule, uint64_t generation)
{
    return atomic_load(&schedule->active) && atomic_load(&schedule->generation) == generation;
}

/* After a batch. Caller holds the direction's lock. */
static void check(const struct sl_schedule *schedule)
{
    SL_CHECK_ALL_SPARINGLY(sl_schedule_elements(schedule), sl_schedule_is_valid(schedule));
}

/* Evictions below `out`, if the plan is of that generation. */
static void issue_out_of(struct sl_schedule *schedule, uint64_t generation, uint32_t out,
                         enum sl_move_cause cause, enum patience patience)
{
    struct sl_migrator *migrator = schedule->migrator;
    if (out <= atomic_load_explicit(&schedule->next_out, memory_order_relaxed)) return;
    sl_lock(&migrator->out.lock);
    if (is_current(schedule, generation)) issue_out(schedule, out, cause, patience);
    check(schedule);
    sl_unlock(&migrator->out.lock);
}

/* Fetches below `in`. */
static void issue_in_of(struct sl_schedule *schedule, uint64_t generation, uint32_t in,
                        enum sl_move_cause cause)
{
    struct sl_migrator *migrator = schedule->migrator;
    if (in <= atomic_load_explicit(&schedule->next_in, memory_order_relaxed)) return;
    sl_lock(&migrator->in.lock);
    bool both = is_current(schedule, generation) && issue_in(schedule, in, false, cause);
    check(schedule);
    sl_unlock(&migrator->in.lock);
    if (!both) return;
    sl_migrator_lock(migrator);
    if (is_current(schedule, generation)) issue_in(schedule, in, true, cause);
    check(schedule);
    sl_migrator_unlock(migrator);
}

/* The number of evictions that the fetches below `in` wait for. */
static uint32_t evictions_for(struct sl_schedule *schedule, uint64_t generation, uint32_t in)
{
    uint32_t out = 0;
    if (in <= atomic_load_explicit(&schedule->next_in, memory_order_relaxed)) return 0;
    sl_lock(&schedule->migrator->in.lock);
    if (is_current(schedule, generation) && in <= schedule->steps.in_count)
        out = schedule->steps.in[in - 1].waits_for;
    sl_unlock(&schedule->migrator->in.lock);
    return out;
}

void sl_schedule_issue(struct sl_schedule *schedule, const struct sl_schedule_batch *batch)
{
    if (!batch->any) return;
    issue_out_of(schedule, batch->generation, evictions_for(schedule, batch->generation, batch->needed_in),
                 SL_CAUSE_LATE, IMPATIENT);
    issue_in_of(schedule, batch->generation, batch->needed_in, SL_CAUSE_LATE);
    issue_out_of(schedule, batch->generation, batch->out, SL_CAUSE_PLAN, IMPATIENT);
    issue_in_of(schedule, batch->generation, batch->in, SL_CAUSE_PLAN);
}

/* The launch's index in the tables; false: the plan does not contain it. */
static bool find(const struct sl_schedule *schedule, sl_tick tick, size_t *at)
{
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed) || tick < schedule->steps.first_tick)
        return false;
    *at = (size_t)(tick - schedule->steps.first_tick);
    return *at <= schedule->steps.window;
}

bool sl_schedule_is_in_place(const struct sl_schedule *schedule, sl_tick tick, sl_symbol symbol)
{
    const struct sl_steps *steps = &schedule->steps;
    size_t at;
    return find(schedule, tick, &at) && at < steps->window && steps->in_place && steps->in_place[at] &&
           (!steps->symbols || steps->symbols[at] == symbol);
}

static bool waited_for(const struct sl_step *steps, uint32_t next, uint32_t count, sl_tick tick)
{
    return next < count && steps[next].dead && steps[next].after + 1 == tick;
}

static void count_batch(const struct sl_schedule *schedule, struct sl_schedule_batch *batch)
{
    uint32_t next_out = atomic_load_explicit(&schedule->next_out, memory_order_relaxed);
    uint32_t next_in = atomic_load_explicit(&schedule->next_in, memory_order_relaxed);
    batch->generation = atomic_load(&schedule->generation);
    batch->any = batch->out > next_out || batch->in > next_in || batch->needed_in > next_in;
}

void sl_schedule_begin(struct sl_schedule *schedule, sl_tick tick, bool everything,
                       struct sl_schedule_batch *batch)
{
    const struct sl_steps *steps = &schedule->steps;
    size_t at;
    *batch = (struct sl_schedule_batch){0};
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed)) return;
    atomic_store_explicit(&schedule->begun, tick, memory_order_release);
    if (!find(schedule, tick, &at)) return;
    batch->needed_in = steps->need_in[at];
    if (everything) {
        batch->out = steps->ready_out[at];
        batch->in = steps->ready_in[at];
    }
    count_batch(schedule, batch);
    batch->waited_for = !steps->histories &&
                        (waited_for(steps->out, atomic_load(&schedule->next_out), steps->out_count, tick) ||
                         waited_for(steps->in, atomic_load(&schedule->next_in), steps->in_count, tick));
}

/* Fetches, up to `most`, that launches up to index `last` need; 0: all of them were issued. */
static uint32_t needed_by(const struct sl_schedule *schedule, size_t last, uint32_t most)
{
    const struct sl_steps *steps = &schedule->steps;
    uint32_t in = steps->need_in[last < steps->window ? last : steps->window];
    if (in > most) in = most;
    return in > atomic_load_explicit(&schedule->next_in, memory_order_relaxed) ? in : 0;
}

void sl_schedule_go_on(struct sl_schedule *schedule, struct sl_schedule_batch *batch)
{
    size_t at;
    *batch = (struct sl_schedule_batch){0};
    if (!find(schedule, atomic_load(&schedule->submitted) + 1, &at)) return;
    const struct sl_steps *steps = &schedule->steps;
    batch->out = steps->ready_out[at];
    batch->in = steps->ready_in[at];
    count_batch(schedule, batch);
    batch->next_in = needed_by(schedule, at + SL_SCHEDULE_NEXT - 1, batch->in);
    batch->near_in = needed_by(schedule, at + SL_SCHEDULE_NEAR - 1, batch->in);
}

void sl_schedule_freed(struct sl_schedule *schedule, struct sl_schedule_batch *batch)
{
    const struct sl_steps *steps = &schedule->steps;
    uint32_t next = atomic_load_explicit(&schedule->next_out, memory_order_relaxed);
    *batch = (struct sl_schedule_batch){0};
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed) || next >= steps->out_count) return;
    const struct sl_step *step = &steps->out[next];
    /* A step of an earlier launch did not wait for this free: the daemon or the launch issues it. */
    if (step->dead && step->after >= atomic_load(&schedule->begun) && may_leave(schedule, step))
        sl_schedule_go_on(schedule, batch);
}

static void issue_up_to(struct sl_schedule *schedule, uint64_t generation, uint32_t in,
                        enum patience patience)
{
    if (!in) return;
    issue_out_of(schedule, generation, evictions_for(schedule, generation, in), SL_CAUSE_PLAN, patience);
    issue_in_of(schedule, generation, in, SL_CAUSE_PLAN);
}

void sl_schedule_issue_near(struct sl_schedule *schedule, const struct sl_schedule_batch *batch)
{
    issue_up_to(schedule, batch->generation, batch->next_in, IMPATIENT);
    issue_up_to(schedule, batch->generation, batch->near_in, PATIENT);
}

static uint64_t users_of(const struct sl_schedule *schedule, uint32_t i)
{
    return atomic_load(&sl_arena_record(schedule->migrator->arena, schedule->steps.out[i].chunk)->users);
}

uint64_t sl_schedule_leaving_users(const struct sl_schedule *schedule, sl_tick tick)
{
    const struct sl_steps *steps = &schedule->steps;
    uint64_t users = 0;
    if (!atomic_load_explicit(&schedule->active, memory_order_relaxed)) return 0;
    for (uint32_t i = 0; tick <= schedule->begun_at && i < schedule->taken_over; i++)
        if (steps->out[i].after == tick) users |= users_of(schedule, i);
    if (tick + 1 < steps->first_tick) return users;
    size_t at = (size_t)(tick + 1 - steps->first_tick); /* the launch that needs the room */
    if (at > steps->window) return users;
    for (uint32_t i = at ? steps->ready_out[at - 1] : 0; i < steps->ready_out[at]; i++)
        users |= users_of(schedule, i);
    return users;
}

struct sl_fence *sl_schedule_fence(struct sl_schedule *schedule)
{
    const struct sl_steps *steps = &schedule->steps;
    uint32_t next = atomic_load(&schedule->next_out);
    return sl_fences_new(&schedule->fences, next < steps->out_count ? steps->out[next].after : UINT64_MAX);
}

void sl_schedule_submitted(struct sl_schedule *schedule, sl_tick tick)
{
    atomic_store(&schedule->submitted, tick);
}

bool sl_schedule_peek(struct sl_schedule *schedule, bool out, struct sl_pending *pending)
{
    struct sl_link_direction *direction = out ? &schedule->migrator->out : &schedule->migrator->in;
    bool found = false;
    if (!atomic_load(&schedule->active)) return false;
    sl_lock(&direction->lock);
    uint32_t i = atomic_load(out ? &schedule->next_out : &schedule->next_in);
    if (atomic_load(&schedule->active) && i < (out ? schedule->steps.out_count : schedule->steps.in_count)) {
        const struct sl_step *step = out ? &schedule->steps.out[i] : &schedule->steps.in[i];
        found = is_in_arena(schedule, step) &&
                (out ? may_leave(schedule, step)
                     : step->after <= atomic_load(&schedule->submitted) && may_come(schedule, step));
        *pending = (struct sl_pending){
            .generation = atomic_load(&schedule->generation), .index = i, .chunk = step->chunk};
        if (found && out)
            sl_migrator_users(schedule->migrator, step->chunk, sl_fences_find(&schedule->fences, step->after),
                              &pending->users);
        if (found && !out) pending->out_sequence = out_sequence_for(schedule, step);
    }
    sl_unlock(&direction->lock);
    return found;
}

void sl_schedule_issue_pending(struct sl_schedule *schedule, bool out, const struct sl_pending *pending)
{
    if (out)
        issue_out_of(schedule, pending->generation, pending->index + 1, SL_CAUSE_PLAN, WAITED);
    else
        issue_in_of(schedule, pending->generation, pending->index + 1, SL_CAUSE_PLAN);
}
