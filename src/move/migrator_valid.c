#include "move/migrator_valid.h"

#include "base/check.h"

static bool is_direction_valid(const struct sl_link_direction *direction)
{
    uint64_t done = atomic_load(&direction->done); /* read first, because it may rise meanwhile */
    return SL_HOLDS(done <= atomic_load(&direction->issued)) &&
           SL_HOLDS(atomic_load(&direction->event_count) <= SL_EVENTS_MOST);
}

static bool is_chunk_valid(const struct sl_migrator *migrator, const struct sl_chunk_record *chunk)
{
    int content = atomic_load(&chunk->content);
    uint64_t out = atomic_load(&chunk->out_sequence);
    return SL_HOLDS(sl_content_is_resident(content) == (atomic_load(&chunk->frame_bytes) > 0)) &&
           SL_HOLDS(content != SL_CONTENT_RESIDENT_DEAD || !atomic_load(&chunk->bytes)) &&
           SL_HOLDS(atomic_load(&chunk->in_sequence) <= atomic_load(&migrator->in.issued)) &&
           SL_HOLDS(out <= atomic_load(&migrator->out.issued)) &&
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
