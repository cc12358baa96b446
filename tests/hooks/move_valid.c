#include "move/move_valid.h"

#include "base/check.h"

/* --- schedule */

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

/* --- migrator */

static bool is_direction_valid(const struct sl_link_direction *direction)
{
    uint64_t done = atomic_load(&direction->done); /* read first, because it may rise meanwhile */
    return SL_HOLDS(done <= atomic_load(&direction->issued)) &&
           SL_HOLDS(atomic_load(&direction->enqueued.event_count) <= SL_EVENTS_MOST);
}

static bool is_chunk_valid(const struct sl_migrator *migrator, const struct sl_chunk_record *chunk)
{
    int content = atomic_load(&chunk->content);
    uint64_t out = atomic_load(&chunk->out_sequence);
    return SL_HOLDS(sl_content_is_resident(content) == (atomic_load(&chunk->frame_bytes) > 0)) &&
           SL_HOLDS(content != SL_CONTENT_RESIDENT_DEAD || !atomic_load(&chunk->bytes)) &&
           SL_HOLDS(atomic_load(&chunk->in_sequence) <= atomic_load(&migrator->in.given)) &&
           SL_HOLDS(out <= atomic_load(&migrator->out.given)) &&
           SL_HOLDS(atomic_load(&chunk->discard_sequence) <= out);
}

bool sl_migrator_is_valid(const struct sl_migrator *migrator)
{
    uint64_t occupied = 0;
    if (!is_direction_valid(&migrator->in) || !is_direction_valid(&migrator->out)) return false;
    for (size_t c = 0; c < sl_arena_chunk_count(migrator->arena); c++) {
        const struct sl_chunk_record *chunk = sl_arena_record(migrator->arena, (sl_chunk)c);
        if (chunk->pinned) continue;
        if (!is_chunk_valid(migrator, chunk)) return false;
        occupied += atomic_load(&chunk->frame_bytes);
    }
    return SL_HOLDS(occupied == atomic_load(&migrator->occupied_bytes));
}
