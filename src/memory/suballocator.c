#include "memory/suballocator.h"

#include <string.h>

#define TINY_SEARCHED 8u /* chunks */

static uint32_t granules_of(uint64_t bytes)
{
    return (uint32_t)((bytes + SL_GRANULE_BYTES - 1) / SL_GRANULE_BYTES);
}

static uint64_t whole_blocks(uint64_t bytes)
{
    return (bytes + SL_BLOCK_BYTES - 1) & ~(SL_BLOCK_BYTES - 1);
}

/* The part of an allocation that takes whole chunks. The rest is packed. */
static uint64_t run_bytes(const struct sl_arena *arena, uint64_t bytes)
{
    return bytes & ~(arena->chunk_bytes - 1);
}

static uint32_t granule_at(const struct sl_arena *arena, uint64_t address)
{
    return (uint32_t)((address & (arena->chunk_bytes - 1)) / SL_GRANULE_BYTES);
}

static bool is_packed(const struct sl_chunk_record *chunk)
{
    return chunk->group != SL_NONE;
}

void sl_suballocator_init(struct sl_suballocator *suballocator, struct sl_arena *arena)
{
    memset(suballocator, 0, sizeof *suballocator);
    suballocator->arena = arena;
    for (int g = 0; g < SL_GROUPS; g++) suballocator->groups[g].newest = SL_NONE;
}

/* --- chunks with room */

static uint32_t room_in(const struct sl_suballocator *suballocator, sl_chunk c, uint32_t group)
{
    const struct sl_chunk_record *chunk = sl_arena_record(suballocator->arena, c);
    if (chunk->group != group) return 0;
    uint32_t behind = chunk->bitmap->granules - sl_chunk_bitmap_last(chunk->bitmap);
    return behind > chunk->bitmap->longest ? behind : chunk->bitmap->longest;
}

/* In a full list, the place of the chunk with the least room. */
static uint32_t least_room(const struct sl_suballocator *suballocator, uint32_t g)
{
    const struct sl_group *group = &suballocator->groups[g];
    uint32_t least = 0, room = UINT32_MAX;
    for (uint32_t i = 0; i < group->partial_count; i++) {
        uint32_t one = room_in(suballocator, group->partial[i], g);
        if (one >= room) continue;
        room = one;
        least = i;
    }
    return least;
}

static void put_last(struct sl_suballocator *suballocator, sl_chunk c)
{
    uint32_t g = sl_arena_record(suballocator->arena, c)->group, at = 0;
    struct sl_group *group = &suballocator->groups[g];
    if (g == SL_GROUP_MAPPED) return; /* no room is searched there */
    if (group->partial_count && group->partial[group->partial_count - 1] == c) return;
    while (at < group->partial_count && group->partial[at] != c) at++;
    if (at == SL_PARTIAL) at = least_room(suballocator, g);
    if (at == group->partial_count) group->partial_count++;
    memmove(&group->partial[at], &group->partial[at + 1],
            (group->partial_count - at - 1) * sizeof *group->partial);
    group->partial[group->partial_count - 1] = c;
}

/* Whether `count` granules fit after all allocations of the chunk. */
static bool fits_behind(const struct sl_chunk_bitmap *bitmap, uint32_t count, uint32_t *granule)
{
    *granule = sl_chunk_bitmap_last(bitmap);
    return bitmap->granules - *granule >= count;
}

/* Finds a gap within the present size of a chunk, or else in the last one that may grow. */
static bool find_gap(const struct sl_suballocator *suballocator, uint32_t g, uint32_t count, sl_chunk *found,
                     uint32_t *granule)
{
    const struct sl_group *group = &suballocator->groups[g];
    bool behind = false;
    for (uint32_t i = group->partial_count, gap; i-- > 0;) {
        const struct sl_chunk_record *chunk = sl_arena_record(suballocator->arena, group->partial[i]);
        if (chunk->group != g) continue;
        bool within = sl_chunk_bitmap_gap(chunk->bitmap, count, &gap);
        if (!within && (behind || !fits_behind(chunk->bitmap, count, &gap))) continue;
        *found = group->partial[i];
        *granule = gap;
        if (within) return true;
        behind = true;
    }
    return behind;
}

/* A site's own chunks are begun only when those of SL_GROUP_LASTING are full: else each site would waste part
 * of one. */
static bool find_room(const struct sl_suballocator *suballocator, uint32_t group, uint32_t count,
                      sl_chunk *found, uint32_t *granule)
{
    if (find_gap(suballocator, group, count, found, granule)) return true;
    return group >= SL_GROUP_OF_SITE && find_gap(suballocator, SL_GROUP_LASTING, count, found, granule);
}

/* Searches few chunks for a gap, and only when the newest is full: a chunk holds many tiny allocations. */
static bool find_tiny_gap(const struct sl_suballocator *suballocator, uint32_t g, uint32_t count,
                          sl_chunk *found, uint32_t *granule)
{
    const struct sl_group *group = &suballocator->groups[g];
    *found = group->newest;
    if (*found != SL_NONE) {
        const struct sl_chunk_record *chunk = sl_arena_record(suballocator->arena, *found);
        if (chunk->group == g && fits_behind(chunk->bitmap, count, granule)) return true;
    }
    uint32_t end = group->partial_count > TINY_SEARCHED ? group->partial_count - TINY_SEARCHED : 0;
    for (uint32_t i = group->partial_count; i-- > end;) {
        const struct sl_chunk_record *chunk = sl_arena_record(suballocator->arena, group->partial[i]);
        *found = group->partial[i];
        if (chunk->group == g && sl_chunk_bitmap_gap(chunk->bitmap, count, granule)) return true;
    }
    return false;
}

/* --- packed chunks */

/* Makes a chunk that was just taken, and is a run by itself, a packed one. False: out of memory. */
static bool begin_packed(struct sl_suballocator *suballocator, sl_chunk c, uint32_t group)
{
    struct sl_chunk_record *chunk = sl_arena_record(suballocator->arena, c);
    if (!chunk->bitmap)
        chunk->bitmap = sl_chunk_bitmap_new((uint32_t)(suballocator->arena->chunk_bytes / SL_GRANULE_BYTES));
    if (!chunk->bitmap) return false;
    sl_chunk_bitmap_use(chunk->bitmap, 0);
    chunk->group = group;
    suballocator->groups[group].newest = c;
    return true;
}

/* The bytes by which the chunk would grow; 0 for pinned memory, which the backend has given whole. */
static uint64_t growth(const struct sl_suballocator *suballocator, sl_chunk c, uint32_t granule,
                       uint64_t bytes)
{
    const struct sl_chunk_record *chunk = sl_arena_record(suballocator->arena, c);
    uint64_t end = whole_blocks((uint64_t)granule * SL_GRANULE_BYTES + bytes), before = chunk->bytes;
    return end > before && !chunk->pinned ? end - before : 0;
}

static void pack(struct sl_suballocator *suballocator, sl_chunk c, uint32_t granule, uint64_t bytes,
                 uint32_t slot)
{
    struct sl_chunk_record *chunk = sl_arena_record(suballocator->arena, c);
    sl_chunk_bitmap_take(chunk->bitmap, granule, granules_of(bytes), slot);
    sl_arena_grow(suballocator->arena, c, whole_blocks((uint64_t)granule * SL_GRANULE_BYTES + bytes));
    uint32_t end = (uint32_t)(chunk->bytes / SL_GRANULE_BYTES);
    if (end > chunk->bitmap->end) sl_chunk_bitmap_use(chunk->bitmap, end);
    put_last(suballocator, c);
}

static void unpack(struct sl_suballocator *suballocator, sl_chunk c, uint32_t granule)
{
    struct sl_chunk_record *chunk = sl_arena_record(suballocator->arena, c);
    sl_chunk_bitmap_leave(chunk->bitmap, granule);
    if (chunk->bitmap->count)
        put_last(suballocator, c);
    else
        sl_arena_give(suballocator->arena, c);
}

/* --- suballocator */

/* Makes chunks that were just taken a run and a packed chunk. False: out of memory, and they are given
 * back. */
static bool settle(struct sl_suballocator *suballocator, sl_chunk first, uint64_t bytes, uint32_t group,
                   uint32_t slot)
{
    struct sl_arena *arena = suballocator->arena;
    uint64_t whole = run_bytes(arena, bytes);
    if (bytes > whole) {
        sl_chunk last = first + (sl_chunk)(whole >> arena->chunk_shift);
        if (whole) sl_arena_split(arena, first);
        if (!begin_packed(suballocator, last, group)) {
            if (whole) sl_arena_give(arena, first);
            sl_arena_give(arena, last);
            return false;
        }
        pack(suballocator, last, 0, bytes - whole, slot);
    }
    if (whole) sl_arena_record(arena, first)->run_slot = slot;
    return true;
}

enum sl_status sl_suballocator_take(struct sl_suballocator *suballocator, uint64_t bytes, uint32_t group,
                                    uint64_t room_bytes, uint32_t slot, uint64_t *address)
{
    struct sl_arena *arena = suballocator->arena;
    bool pinned = group == SL_GROUP_PINNED;
    uint32_t granule = 0;
    sl_chunk c;
    bool found = bytes <= SL_TINY_BYTES ? find_tiny_gap(suballocator, group, granules_of(bytes), &c, &granule)
                 : bytes < arena->chunk_bytes
                     ? find_room(suballocator, group, granules_of(bytes), &c, &granule)
                     : false;
    if (found) {
        if (growth(suballocator, c, granule, bytes) > room_bytes) return SL_ERR_NO_MEMORY;
        pack(suballocator, c, granule, bytes, slot);
    } else {
        granule = 0;
        if (!pinned && (bytes > room_bytes || whole_blocks(bytes) > room_bytes)) return SL_ERR_NO_MEMORY;
        enum sl_status status =
            pinned ? sl_arena_take_pinned(arena, bytes, room_bytes, &c) : sl_arena_take(arena, bytes, &c);
        if (status) return status;
        if (!settle(suballocator, c, bytes, group, slot)) return SL_ERR_NO_MEMORY;
    }
    *address = sl_arena_record(arena, c)->address + (uint64_t)granule * SL_GRANULE_BYTES;
    return SL_OK;
}

static bool repack(struct sl_suballocator *suballocator, sl_chunk c, uint32_t granule, uint64_t bytes,
                   uint32_t group, uint64_t room_bytes, uint32_t slot)
{
    struct sl_arena *arena = suballocator->arena;
    struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    if (growth(suballocator, c, granule, bytes) > room_bytes) return false;
    if (!chunk->bytes) {
        if (!sl_arena_take_at(arena, c, (uint64_t)granule * SL_GRANULE_BYTES + bytes)) return false;
        if (!begin_packed(suballocator, c, group)) {
            sl_arena_give(arena, c);
            return false;
        }
    } else if (!is_packed(chunk) || !sl_chunk_bitmap_is_free(chunk->bitmap, granule, granules_of(bytes))) {
        return false;
    }
    pack(suballocator, c, granule, bytes, slot);
    return true;
}

bool sl_suballocator_retake(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes,
                            uint32_t group, uint64_t room_bytes, uint32_t slot)
{
    struct sl_arena *arena = suballocator->arena;
    sl_chunk first = sl_arena_chunk(arena, address);
    uint64_t whole = run_bytes(arena, bytes);
    if (sl_arena_is_reserved(arena, first)) return false;
    uint64_t in_chunk = address & (arena->chunk_bytes - 1); /* the place may be that of a former mapping */
    if (whole ? in_chunk != 0 : in_chunk + bytes > arena->chunk_bytes) return false;
    if (!whole)
        return repack(suballocator, first, granule_at(arena, address), bytes, group, room_bytes, slot);
    if (!sl_arena_record(arena, first)->pinned) {
        if (whole > room_bytes) return false;
        room_bytes -= whole;
    }
    if (!sl_arena_take_at(arena, first, whole)) return false;
    sl_chunk last = first + (sl_chunk)(whole >> arena->chunk_shift);
    if (bytes > whole && !repack(suballocator, last, 0, bytes - whole, group, room_bytes, slot)) {
        sl_arena_give(arena, first);
        return false;
    }
    sl_arena_record(arena, first)->run_slot = slot;
    return true;
}

void sl_suballocator_give_back(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes)
{
    struct sl_arena *arena = suballocator->arena;
    sl_chunk first = sl_arena_chunk(arena, address);
    uint64_t whole = run_bytes(arena, bytes);
    if (whole) sl_arena_give(arena, first);
    if (bytes > whole)
        unpack(suballocator, first + (sl_chunk)(whole >> arena->chunk_shift), granule_at(arena, address));
}

/* --- places that the program maps */

/* A place that the program chose: part of a chunk, whole chunks, part of a chunk. */
struct span {
    uint64_t head_bytes, whole_bytes, tail_bytes;
    sl_chunk first_whole; /* or the chunk that holds the tail */
};

static struct span span_of(const struct sl_arena *arena, uint64_t address, uint64_t bytes)
{
    uint64_t in_chunk = address & (arena->chunk_bytes - 1), to_end = arena->chunk_bytes - in_chunk;
    struct span span = {.first_whole = sl_arena_chunk(arena, address)};
    if (in_chunk) {
        span.head_bytes = bytes < to_end ? bytes : to_end;
        span.first_whole++;
    }
    span.whole_bytes = run_bytes(arena, bytes - span.head_bytes);
    span.tail_bytes = bytes - span.head_bytes - span.whole_bytes;
    return span;
}

static sl_chunk tail_of(const struct sl_arena *arena, const struct span *span)
{
    return span->first_whole + (sl_chunk)(span->whole_bytes >> arena->chunk_shift);
}

/* Whether the whole range is reserved and its slabs are contiguous. */
static bool may_map(const struct sl_arena *arena, uint64_t address, uint64_t bytes)
{
    if (!bytes || address % SL_GRANULE_BYTES || bytes % SL_GRANULE_BYTES || address + bytes < address)
        return false;
    uint32_t first = sl_arena_slab(arena, address), last = sl_arena_slab(arena, address + bytes - 1);
    if (!first || last < first || last > atomic_load(&arena->slab_count)) return false;
    for (uint32_t s = first - 1; s < last; s++)
        if (!arena->slabs[s].reserved) return false;
    return (address + bytes - 1) / SL_GIB - address / SL_GIB == last - first &&
           arena->slabs[last - 1].address == ((address + bytes - 1) & ~(SL_GIB - 1));
}

enum sl_status sl_suballocator_map(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes,
                                   uint32_t slot)
{
    struct sl_arena *arena = suballocator->arena;
    if (!may_map(arena, address, bytes)) return SL_ERR_INVALID;
    struct span span = span_of(arena, address, bytes);
    sl_chunk head = sl_arena_chunk(arena, address), tail = tail_of(arena, &span);
    if (span.head_bytes && !repack(suballocator, head, granule_at(arena, address), span.head_bytes,
                                   SL_GROUP_MAPPED, UINT64_MAX, slot))
        return SL_ERR_INVALID;
    if (span.whole_bytes && !sl_arena_take_at(arena, span.first_whole, span.whole_bytes)) goto no_run;
    if (span.tail_bytes && !repack(suballocator, tail, 0, span.tail_bytes, SL_GROUP_MAPPED, UINT64_MAX, slot))
        goto no_tail;
    if (span.whole_bytes) sl_arena_record(arena, span.first_whole)->run_slot = slot;
    return SL_OK;
no_tail:
    if (span.whole_bytes) sl_arena_give(arena, span.first_whole);
no_run:
    if (span.head_bytes) unpack(suballocator, head, granule_at(arena, address));
    return SL_ERR_INVALID;
}

void sl_suballocator_unmap(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes)
{
    struct sl_arena *arena = suballocator->arena;
    struct span span = span_of(arena, address, bytes);
    if (span.head_bytes) unpack(suballocator, sl_arena_chunk(arena, address), granule_at(arena, address));
    if (span.whole_bytes) sl_arena_give(arena, span.first_whole);
    if (span.tail_bytes) unpack(suballocator, tail_of(arena, &span), 0);
}

/* --- look-ups */

uint32_t sl_suballocator_slot(const struct sl_arena *arena, uint64_t address)
{
    sl_chunk c = sl_arena_chunk(arena, address);
    if (c == SL_NONE) return SL_NONE;
    const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    uint32_t first;
    return is_packed(chunk) ? sl_chunk_bitmap_find(chunk->bitmap, granule_at(arena, address), &first)
                            : sl_arena_record(arena, chunk->run)->run_slot;
}

uint64_t sl_suballocator_chunk_bytes(const struct sl_arena *arena, uint64_t address, uint64_t bytes,
                                     uint32_t number)
{
    uint64_t end = (address & (arena->chunk_bytes - 1)) + bytes - number * arena->chunk_bytes;
    return end < arena->chunk_bytes ? whole_blocks(end) : arena->chunk_bytes;
}
