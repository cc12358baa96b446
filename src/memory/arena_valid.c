#include "memory/arena_valid.h"

#include "base/check.h"

/* --- chunk bitmap */

static size_t words_of(const struct sl_chunk_bitmap *bitmap, int level)
{
    return ((size_t)bitmap->granules >> 6 * (level + 1)) + 1;
}

static bool levels_agree(const struct sl_chunk_bitmap *bitmap)
{
    for (int level = 0; level + 1 < SL_CHUNK_BITMAP_LEVELS; level++)
        for (size_t w = 0; w < words_of(bitmap, level); w++)
            if ((bitmap->starts[level][w] != 0) != (bitmap->starts[level + 1][w >> 6] >> (w & 63) & 1))
                return false;
    return true;
}

bool sl_chunk_bitmap_is_valid(const struct sl_chunk_bitmap *bitmap)
{
    uint32_t count = 0, last_end = 0;
    if (!SL_HOLDS(bitmap->end <= bitmap->granules) || !SL_HOLDS(bitmap->longest <= bitmap->granules) ||
        !SL_HOLDS(levels_agree(bitmap)))
        return false;
    for (size_t w = 0; w < words_of(bitmap, 0); w++)
        for (uint64_t rest = bitmap->starts[0][w]; rest; rest &= rest - 1, count++) {
            uint32_t first = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(rest);
            if (!SL_HOLDS(first >= last_end) || !SL_HOLDS(first < bitmap->granules)) return false;
            uint32_t granules = bitmap->stretches[first].granules;
            if (!SL_HOLDS(granules > 0) || !SL_HOLDS(granules <= bitmap->granules - first)) return false;
            last_end = first + granules;
        }
    return SL_HOLDS(count == bitmap->count);
}

/* --- chunk */

static bool are_blocks(const struct sl_arena *arena, uint64_t bytes)
{
    return SL_HOLDS(bytes <= arena->chunk_bytes) && SL_HOLDS(bytes % SL_BLOCK_BYTES == 0);
}

static bool is_unowned(const struct sl_chunk_record *chunk, sl_chunk c)
{
    return SL_HOLDS(chunk->run == c) && SL_HOLDS(!chunk->run_chunks) &&
           SL_HOLDS(chunk->run_slot == SL_NONE) && SL_HOLDS(chunk->group == SL_NONE);
}

/* The first chunk of a run checks the others. */
static bool is_in_run(const struct sl_arena *arena, const struct sl_chunk_record *chunk, sl_chunk c)
{
    if (!SL_HOLDS(chunk->run <= c)) return false;
    const struct sl_chunk_record *first = sl_arena_record(arena, chunk->run);
    uint32_t number = c - chunk->run, count = first->run_chunks;
    if (!SL_HOLDS(first->run == chunk->run) || !SL_HOLDS(number < count) ||
        !SL_HOLDS(count <= sl_arena_chunk_count(arena) - chunk->run))
        return false;
    for (uint32_t i = 1; !number && i < count; i++)
        if (!SL_HOLDS(sl_arena_record(arena, c + i)->run == c)) return false;
    return SL_HOLDS(number == count - 1 || chunk->bytes == arena->chunk_bytes);
}

static bool is_packed_well(const struct sl_chunk_record *chunk, sl_chunk c)
{
    const struct sl_chunk_bitmap *bitmap = chunk->bitmap;
    return SL_HOLDS(chunk->run == c) && SL_HOLDS(chunk->run_chunks == 1) && SL_HOLDS(bitmap) &&
           SL_HOLDS(bitmap->count) && SL_HOLDS(bitmap->end == chunk->bytes / SL_GRANULE_BYTES) &&
           SL_HOLDS(sl_chunk_bitmap_last(bitmap) <= bitmap->end);
}

static bool is_pinned_well(const struct sl_arena *arena, const struct sl_chunk_record *chunk)
{
    return SL_HOLDS(sl_chunk_is_resident(chunk)) && SL_HOLDS(chunk->frame_bytes == arena->chunk_bytes);
}

bool sl_chunk_is_valid(const struct sl_arena *arena, sl_chunk c)
{
    const struct sl_slab *slab = &arena->slabs[c >> arena->slab_shift];
    const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    uint32_t in_slab = c & (arena->chunks_per_slab - 1);
    int content = atomic_load(&chunk->content);
    bool as_in_slab = SL_HOLDS(chunk->address == slab->address + ((uint64_t)in_slab << arena->chunk_shift)) &&
                      SL_HOLDS(chunk->pinned == slab->pinned);
    bool as_moved = SL_HOLDS(content >= SL_CONTENT_DEAD && content <= SL_CONTENT_RESIDENT_DEAD) &&
                    are_blocks(arena, chunk->bytes) && are_blocks(arena, chunk->frame_bytes) &&
                    (!chunk->pinned || is_pinned_well(arena, chunk));
    if (!as_in_slab || !as_moved) return false;
    if (!chunk->bytes) return is_unowned(chunk, c);
    return SL_HOLDS(in_slab < slab->chunk_count) && is_in_run(arena, chunk, c) &&
           (chunk->group == SL_NONE || is_packed_well(chunk, c));
}

/* --- arena */

struct sums {
    uint64_t bytes, pinned_bytes;
    uint32_t chunks;
};

static bool is_slab_valid(const struct sl_arena *arena, uint32_t s, struct sums *sums)
{
    const struct sl_slab *slab = &arena->slabs[s];
    uint32_t free_chunks = 0;
    if (!SL_HOLDS(slab->address % SL_GIB == 0) ||
        !SL_HOLDS(!slab->chunk_count || sl_arena_slab(arena, slab->address) == s + 1) ||
        !SL_HOLDS(slab->chunk_count <= arena->chunks_per_slab) ||
        !SL_HOLDS(!slab->reserved || !slab->pinned) || !SL_HOLDS(slab->address >= sl_arena_range.low) ||
        !SL_HOLDS(slab->address + SL_GIB <= sl_arena_range.high))
        return false;
    for (uint32_t i = 0; i < arena->chunks_per_slab; i++) {
        const struct sl_chunk_record *chunk = &slab->chunks[i];
        if (!sl_chunk_is_valid(arena, s * arena->chunks_per_slab + i)) return false;
        free_chunks += i < slab->chunk_count && !chunk->bytes;
        sums->chunks += chunk->bytes != 0;
        sums->bytes += chunk->bytes;
        if (chunk->pinned) sums->pinned_bytes += chunk->bytes;
    }
    return SL_HOLDS(free_chunks == slab->free_chunks) &&
           SL_HOLDS(slab->used || slab->free_chunks == slab->chunk_count);
}

bool sl_arena_is_valid(const struct sl_arena *arena)
{
    struct sums sums = {0};
    for (uint32_t s = 0; s < atomic_load(&arena->slab_count); s++)
        if (!is_slab_valid(arena, s, &sums)) return false;
    return SL_HOLDS(sums.chunks == arena->chunks_used) &&
           SL_HOLDS(arena->chunks_used <= arena->peak_chunks_used) &&
           SL_HOLDS(sums.bytes == arena->virtual_bytes_used) &&
           SL_HOLDS(sums.pinned_bytes == arena->pinned_bytes_used) &&
           SL_HOLDS(arena->pinned_bytes_used <= arena->pinned_bytes);
}
