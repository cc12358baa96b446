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

/* --- places */

/* A place: the end of a chunk, whole chunks, the beginning of a chunk. */
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

/* Whether the place is part of one chunk. */
static bool is_part(const struct sl_arena *arena, uint64_t address, uint64_t bytes)
{
    return bytes < arena->chunk_bytes && (address & (arena->chunk_bytes - 1)) + bytes <= arena->chunk_bytes;
}

static sl_chunk tail_of(const struct sl_arena *arena, const struct span *span)
{
    return span->first_whole + (sl_chunk)(span->whole_bytes >> arena->chunk_shift);
}

/* Whether the range lies in the arena's slabs, contiguous ones, which are all reserved or none of them, and
 * are not pinned or were pinned at once. */
static bool may_place(const struct sl_arena *arena, uint64_t address, uint64_t bytes, bool reserved)
{
    uint64_t end = address + bytes - 1;
    if (!bytes || end < address) return false;
    uint32_t first = sl_arena_slab(arena, address), last = sl_arena_slab(arena, end);
    if (!first || last < first || last > atomic_load(&arena->slab_count)) return false;
    for (uint32_t s = first - 1; s < last; s++) {
        const struct sl_slab *slab = &arena->slabs[s];
        if (slab->reserved != reserved) return false;
        if (s >= first && (slab->pinned != slab[-1].pinned || (slab->pinned && slab->reservation_bytes)))
            return false;
    }
    return end / SL_GIB - address / SL_GIB == last - first &&
           arena->slabs[last - 1].address == (end & ~(SL_GIB - 1));
}

static bool is_part_free(const struct sl_arena *arena, sl_chunk c, uint32_t granule, uint64_t bytes)
{
    const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    return !chunk->bytes ||
           (is_packed(chunk) && sl_chunk_bitmap_is_free(chunk->bitmap, granule, granules_of(bytes)));
}

/* Precondition: may_place. */
static bool is_free(const struct sl_arena *arena, uint64_t address, const struct span *span)
{
    sl_chunk head = sl_arena_chunk(arena, address), tail = tail_of(arena, span);
    if (span->head_bytes && !is_part_free(arena, head, granule_at(arena, address), span->head_bytes))
        return false;
    for (sl_chunk c = span->first_whole; c < tail; c++)
        if (sl_arena_record(arena, c)->bytes) return false;
    return !span->tail_bytes || is_part_free(arena, tail, 0, span->tail_bytes);
}

/* Takes part of a chunk, which becomes a packed one if nothing lies there. False: it is not free, or out of
 * memory. */
static bool repack(struct sl_suballocator *suballocator, sl_chunk c, uint32_t granule, uint64_t bytes,
                   uint32_t group, uint32_t slot)
{
    struct sl_arena *arena = suballocator->arena;
    struct sl_chunk_record *chunk = sl_arena_record(arena, c);
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

/* The bytes by which chunks would grow. */
static uint64_t growth_of(const struct sl_suballocator *suballocator, uint64_t address,
                          const struct span *span)
{
    const struct sl_arena *arena = suballocator->arena;
    uint64_t bytes = 0;
    if (span->head_bytes)
        bytes = growth(suballocator, sl_arena_chunk(arena, address), granule_at(arena, address),
                       span->head_bytes);
    if (span->whole_bytes && !sl_arena_record(arena, span->first_whole)->pinned) bytes += span->whole_bytes;
    if (span->tail_bytes) bytes += growth(suballocator, tail_of(arena, span), 0, span->tail_bytes);
    return bytes;
}

/* Takes the place if it is free. Precondition: may_place. */
static bool take_at(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes, uint32_t group,
                    uint64_t room_bytes, uint32_t slot)
{
    struct sl_arena *arena = suballocator->arena;
    sl_chunk head = sl_arena_chunk(arena, address);
    uint32_t granule = granule_at(arena, address);
    struct span span = span_of(arena, address, bytes);
    sl_chunk tail = tail_of(arena, &span);
    if (!is_free(arena, address, &span) || growth_of(suballocator, address, &span) > room_bytes) return false;
    if (span.head_bytes && !repack(suballocator, head, granule, span.head_bytes, group, slot)) return false;
    if (span.whole_bytes && !sl_arena_take_at(arena, span.first_whole, span.whole_bytes)) goto no_run;
    if (span.tail_bytes && !repack(suballocator, tail, 0, span.tail_bytes, group, slot)) goto no_tail;
    if (span.whole_bytes) sl_arena_record(arena, span.first_whole)->run_slot = slot;
    return true;
no_tail:
    if (span.whole_bytes) sl_arena_give(arena, span.first_whole);
no_run:
    if (span.head_bytes) unpack(suballocator, head, granule);
    return false;
}

/* Whether the place behind all allocations of a packed chunk may be tried: it has some room, and goes on in
 * another chunk that is free or packed with the same group. */
static bool may_go_on(const struct sl_suballocator *suballocator, sl_chunk c, uint32_t group, uint64_t bytes,
                      uint64_t *address)
{
    const struct sl_arena *arena = suballocator->arena;
    const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    if (chunk->group != group) return false;
    uint32_t granule = sl_chunk_bitmap_last(chunk->bitmap);
    *address = chunk->address + (uint64_t)granule * SL_GRANULE_BYTES;
    if (granule == chunk->bitmap->granules || !may_place(arena, *address, bytes, false) ||
        sl_arena_is_foreign(arena, *address, bytes))
        return false;
    struct span span = span_of(arena, *address, bytes);
    const struct sl_chunk_record *tail = sl_arena_record(arena, tail_of(arena, &span));
    return !span.tail_bytes || tail->group == group || !tail->bytes;
}

/* Takes a place that begins in one of the group's chunks and goes on in the next ones: no room is lost
 * between allocations. */
static bool take_between(struct sl_suballocator *suballocator, uint64_t bytes, uint32_t g,
                         uint64_t room_bytes, uint32_t slot, uint64_t *address)
{
    const struct sl_group *group = &suballocator->groups[g];
    for (uint32_t i = group->partial_count; i-- > 0;)
        if (may_go_on(suballocator, group->partial[i], g, bytes, address) &&
            take_at(suballocator, *address, bytes, g, room_bytes, slot))
            return true;
    return false;
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

/* Looks at every chunk, for room of whichever group, before memory is refused. */
static bool take_anywhere(struct sl_suballocator *suballocator, uint64_t bytes, uint64_t room_bytes,
                          uint32_t slot, uint64_t *address)
{
    struct sl_arena *arena = suballocator->arena;
    size_t count = sl_arena_chunk_count(arena);
    for (size_t at = sl_arena_skip_unused(arena, 0, count); at < count;
         at = sl_arena_skip_unused(arena, at + 1, count)) {
        sl_chunk c = (sl_chunk)at;
        const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
        uint32_t g = chunk->group, granule;
        if (!is_packed(chunk) || g == SL_GROUP_TINY || g == SL_GROUP_PINNED || g == SL_GROUP_MAPPED) continue;
        if (bytes < arena->chunk_bytes && sl_chunk_bitmap_gap(chunk->bitmap, granules_of(bytes), &granule)) {
            *address = chunk->address + (uint64_t)granule * SL_GRANULE_BYTES;
            pack(suballocator, c, granule, bytes, slot);
            return true;
        }
        if (may_go_on(suballocator, c, g, bytes, address) &&
            take_at(suballocator, *address, bytes, g, room_bytes, slot))
            return true;
    }
    return false;
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
    if (!found && suballocator->dense && !pinned && bytes > SL_TINY_BYTES &&
        take_between(suballocator, bytes, group, room_bytes, slot, address))
        return SL_OK;
    uint64_t needed = found ? growth(suballocator, c, granule, bytes) : pinned ? 0 : whole_blocks(bytes);
    if (needed > room_bytes || (!found && !pinned && bytes > room_bytes))
        return !pinned && bytes > SL_TINY_BYTES &&
                       take_anywhere(suballocator, bytes, room_bytes, slot, address)
                   ? SL_OK
                   : SL_ERR_NO_MEMORY;
    if (found) {
        pack(suballocator, c, granule, bytes, slot);
    } else {
        granule = 0;
        enum sl_status status =
            pinned ? sl_arena_take_pinned(arena, bytes, room_bytes, &c) : sl_arena_take(arena, bytes, &c);
        if (status) return status;
        if (!settle(suballocator, c, bytes, group, slot)) return SL_ERR_NO_MEMORY;
    }
    *address = sl_arena_record(arena, c)->address + (uint64_t)granule * SL_GRANULE_BYTES;
    return SL_OK;
}

bool sl_suballocator_retake(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes,
                            uint32_t group, uint64_t room_bytes, uint32_t slot)
{
    const struct sl_arena *arena = suballocator->arena;
    sl_chunk c = sl_arena_chunk(arena, address);
    uint32_t granule = granule_at(arena, address);
    if (is_part(arena, address, bytes)) /* as most are */
        return c != SL_NONE && !sl_arena_is_reserved(arena, c) &&
               growth(suballocator, c, granule, bytes) <= room_bytes &&
               repack(suballocator, c, granule, bytes, group, slot);
    return may_place(arena, address, bytes, false) &&
           take_at(suballocator, address, bytes, group, room_bytes, slot);
}

void sl_suballocator_give_back(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes)
{
    struct sl_arena *arena = suballocator->arena;
    sl_chunk head = sl_arena_chunk(arena, address);
    if (is_part(arena, address, bytes)) {
        unpack(suballocator, head, granule_at(arena, address));
        return;
    }
    struct span span = span_of(arena, address, bytes);
    if (span.head_bytes) unpack(suballocator, head, granule_at(arena, address));
    if (span.whole_bytes) sl_arena_give(arena, span.first_whole);
    if (span.tail_bytes) unpack(suballocator, tail_of(arena, &span), 0);
}

enum sl_status sl_suballocator_map(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes,
                                   uint32_t slot)
{
    bool whole_granules = address % SL_GRANULE_BYTES == 0 && bytes % SL_GRANULE_BYTES == 0;
    return whole_granules && may_place(suballocator->arena, address, bytes, true) &&
                   take_at(suballocator, address, bytes, SL_GROUP_MAPPED, UINT64_MAX, slot)
               ? SL_OK
               : SL_ERR_INVALID;
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
