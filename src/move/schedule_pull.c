#include "move/schedule_pull.h"

#include <string.h>

#include "base/check.h"
#include "move/move_valid.h"
#include "move/schedule.h"

/* How many fetches are searched for an unused one. */
enum { LOOK_BACK = 32 };

/* Launch `at` of the plan moves to `to`. */
struct pull {
    size_t to, at;
    sl_tick tick; /* of launch `to` */
};

/* A position in the order of fetches keeps its frame, and so its `waits_for` and `after`. */
static void swap_steps(struct sl_step *a, struct sl_step *b, bool fetches)
{
    struct sl_step was = *a;
    *a = *b;
    *b = was;
    if (!fetches) return;
    b->after = a->after, b->waits_for = a->waits_for;
    a->after = was.after, a->waits_for = was.waits_for;
}

static void reverse(struct sl_step *steps, uint32_t begin, uint32_t end, bool fetches)
{
    while (begin + 1 < end) swap_steps(&steps[begin++], &steps[--end], fetches);
}

/* Moves the steps from `middle` on to the front. */
static void rotate(struct sl_step *steps, uint32_t begin, uint32_t middle, uint32_t end, bool fetches)
{
    if (begin == middle || middle == end) return;
    reverse(steps, begin, middle, fetches);
    reverse(steps, middle, end, fetches);
    reverse(steps, begin, end, fetches);
}

/* Chunks that only the launch's own stream history uses are evicted right after it; the others after the same
 * launches as before. */
static void pull_out(struct sl_steps *steps, const struct pull *pull)
{
    uint32_t *ready = steps->ready_out, begin = ready[pull->to], middle = ready[pull->at],
             end = ready[pull->at + 1];
    uint32_t moved = 0;
    for (uint32_t i = middle; i < end; i++)
        if (steps->out[i].own) rotate(steps->out, middle + moved++, i, i + 1, false);
    rotate(steps->out, begin, middle, middle + moved, false);
    for (uint32_t i = begin; i < middle + moved; i++) {
        struct sl_step *step = &steps->out[i];
        step->after = i < begin + moved ? pull->tick : step->after + 1;
    }
    memmove(&ready[pull->to + 1], &ready[pull->to], (pull->at - pull->to) * sizeof *ready);
    for (size_t x = pull->to + 1; x <= pull->at; x++) ready[x] += moved;
}

static uint32_t no_less(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* `issued`: number of issued fetches; they keep their positions. */
static void pull_in(struct sl_steps *steps, const struct pull *pull, uint32_t issued)
{
    uint32_t *need = steps->need_in, before = pull->to ? need[pull->to - 1] : 0;
    uint32_t begin = no_less(before, issued), middle = no_less(need[pull->at - 1], issued),
             end = no_less(need[pull->at], issued), moved = end - middle;
    rotate(steps->in, begin, middle, end, true);
    for (uint32_t i = begin; i < end; i++) {
        struct sl_step *step = &steps->in[i];
        step->deadline = i < begin + moved ? pull->tick : step->deadline + 1;
        if (step->after >= step->deadline) step->after = step->deadline - 1;
    }
    memmove(&need[pull->to + 1], &need[pull->to], (pull->at - pull->to) * sizeof *need);
    need[pull->to] = before;
    for (size_t x = pull->to; x <= pull->at; x++) {
        if (moved) need[x] = no_less(need[x], begin) + moved;
        steps->ready_in[x] = no_less(steps->ready_in[x], need[x]);
    }
}

/* Finds the next launch of the stream history. */
static bool find(const struct sl_steps *steps, sl_tick tick, uint8_t history, struct pull *pull)
{
    if (tick < steps->first_tick || tick - steps->first_tick >= steps->window) return false;
    *pull = (struct pull){.to = (size_t)(tick - steps->first_tick), .tick = tick};
    size_t end = pull->to + SL_SCHEDULE_REACH;
    if (end > steps->window) end = steps->window;
    for (pull->at = pull->to; pull->at < end; pull->at++)
        if (steps->histories[pull->at] == history) return true;
    return false;
}

static void put_in_front(struct sl_steps *steps, const struct pull *pull, uint32_t issued)
{
    uint8_t history = steps->histories[pull->at];
    memmove(&steps->histories[pull->to + 1], &steps->histories[pull->to], pull->at - pull->to);
    steps->histories[pull->to] = history;
    pull_out(steps, pull);
    pull_in(steps, pull, issued);
}

bool sl_steps_pull(struct sl_steps *steps, sl_tick tick, uint8_t history)
{
    struct pull pull;
    if (!find(steps, tick, history, &pull)) return false;
    if (pull.at > pull.to) put_in_front(steps, &pull, 0);
    return true;
}

bool sl_schedule_pull(struct sl_schedule *schedule, sl_tick tick, uint8_t history, size_t *early)
{
    struct sl_migrator *migrator = schedule->migrator;
    struct pull pull;
    if (!find(&schedule->steps, tick, history, &pull)) return false;
    *early = pull.at - pull.to;
    if (!*early) return true;
    if (!sl_migrator_try_lock(migrator, SL_PATIENCE)) return false;
    put_in_front(&schedule->steps, &pull, atomic_load(&schedule->next_in));
    SL_CHECK_ALL_SPARINGLY(sl_schedule_elements(schedule), sl_schedule_is_valid(schedule));
    sl_migrator_unlock(migrator);
    return true;
}

sl_chunk sl_schedule_take_back(struct sl_schedule *schedule, sl_tick tick)
{
    struct sl_step *steps = schedule->steps.in;
    uint32_t issued = atomic_load(&schedule->next_in), last = issued > LOOK_BACK ? issued - LOOK_BACK : 0;
    if (!atomic_load(&schedule->active) || !schedule->steps.histories) return SL_NONE;
    for (uint32_t i = issued; i-- > last;) {
        const struct sl_chunk_record *chunk = sl_arena_record(schedule->migrator->arena, steps[i].chunk);
        if (!atomic_load(&chunk->unused) || chunk->last_use == tick) continue;
        rotate(steps, i, i + 1, issued, true);
        atomic_store(&schedule->next_in, issued - 1);
        SL_CHECK_ALL_SPARINGLY(sl_schedule_elements(schedule), sl_schedule_is_valid(schedule));
        return steps[issued - 1].chunk;
    }
    return SL_NONE;
}
