#include "move/schedule_valid.h"

#include "base/check.h"

static bool is_out_valid(const struct sl_schedule *schedule)
{
    const struct sl_steps *steps = &schedule->steps;
    size_t chunks = sl_arena_chunk_count(schedule->migrator->arena);
    for (uint32_t i = 0; i < steps->out_count; i++)
        if (!SL_HOLDS(steps->out[i].chunk < chunks)) return false;
    return true;
}

static bool is_in_valid(const struct sl_schedule *schedule)
{
    const struct sl_steps *steps = &schedule->steps;
    const struct sl_arena *arena = schedule->migrator->arena;
    uint32_t issued = atomic_load(&schedule->next_in);
    for (uint32_t i = 0; i < steps->in_count; i++) {
        const struct sl_step *step = &steps->in[i], *before = i ? step - 1 : step;
        bool may_differ = steps->histories || i < issued;
        if (!SL_HOLDS(step->chunk < sl_arena_chunk_count(arena)) ||
            !SL_HOLDS(step->bytes <= arena->chunk_bytes) || !SL_HOLDS(step->waits_for <= steps->out_count) ||
            !SL_HOLDS(step->waits_for >= before->waits_for) ||
            !SL_HOLDS(may_differ || i == issued || step->deadline >= before->deadline) ||
            !SL_HOLDS(may_differ || step->after < step->deadline))
            return false;
    }
    return true;
}

/* The table's counts match only if the evictions are in order. */
static bool are_tables_valid(const struct sl_steps *steps)
{
    uint32_t out = 0;
    for (size_t l = 0; l <= steps->window; l++) {
        size_t before = l ? l - 1 : 0;
        while (out < steps->out_count && steps->out[out].after < steps->first_tick + l) out++;
        if (!SL_HOLDS(steps->ready_out[l] == out) ||
            !SL_HOLDS(steps->ready_in[l] >= steps->ready_in[before]) ||
            !SL_HOLDS(steps->need_in[l] >= steps->need_in[before]) ||
            !SL_HOLDS(steps->need_in[l] <= steps->ready_in[l]))
            return false;
    }
    return SL_HOLDS(steps->ready_in[steps->window] <= steps->in_count);
}

bool sl_schedule_is_valid(const struct sl_schedule *schedule)
{
    const struct sl_steps *steps = &schedule->steps;
    return SL_HOLDS(atomic_load(&schedule->next_out) <= steps->out_count) &&
           SL_HOLDS(atomic_load(&schedule->next_in) <= steps->in_count) &&
           SL_HOLDS(schedule->taken_over <= steps->out_count) && SL_HOLDS(steps->serve <= steps->window) &&
           is_out_valid(schedule) && is_in_valid(schedule) && (!steps->ready_out || are_tables_valid(steps));
}

size_t sl_schedule_elements(const struct sl_schedule *schedule)
{
    return (size_t)schedule->steps.out_count + schedule->steps.in_count + schedule->steps.window;
}
