#include "memory/memory_valid.h"

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

struct chunk_sums {
    uint64_t bytes, pinned_bytes, touched;
    uint32_t chunks;
};

static bool is_slab_valid(const struct sl_arena *arena, uint32_t s, struct chunk_sums *sums)
{
    const struct sl_slab *slab = &arena->slabs[s];
    uint32_t free_chunks = 0, used_chunks = 0;
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
        if (chunk->bytes) used_chunks = i + 1;
        sums->bytes += chunk->bytes;
        if (chunk->pinned) sums->pinned_bytes += chunk->bytes;
    }
    sums->touched += slab->used_chunks;
    return SL_HOLDS(free_chunks == slab->free_chunks) && SL_HOLDS(used_chunks <= slab->used_chunks);
}

bool sl_arena_is_valid(const struct sl_arena *arena)
{
    struct chunk_sums sums = {0};
    for (uint32_t s = 0; s < atomic_load(&arena->slab_count); s++)
        if (!is_slab_valid(arena, s, &sums)) return false;
    return SL_HOLDS(sums.chunks == arena->chunks_used) &&
           SL_HOLDS(arena->chunks_used <= arena->peak_chunks_used) &&
           SL_HOLDS(sums.touched == arena->chunks_touched) &&
           SL_HOLDS(sums.bytes == arena->virtual_bytes_used) &&
           SL_HOLDS(sums.pinned_bytes == arena->pinned_bytes_used) &&
           SL_HOLDS(arena->pinned_bytes_used <= arena->pinned_bytes);
}

/* --- suballocator */

static bool is_group_valid(const struct sl_suballocator *suballocator, const struct sl_group *group)
{
    size_t chunks = sl_arena_chunk_count(suballocator->arena);
    if (!SL_HOLDS(group->partial_count <= SL_PARTIAL) ||
        !SL_HOLDS(group->newest == SL_NONE || group->newest < chunks))
        return false;
    for (uint32_t i = 0; i < group->partial_count; i++) {
        if (!SL_HOLDS(group->partial[i] < chunks)) return false;
        for (uint32_t j = 0; j < i; j++)
            if (!SL_HOLDS(group->partial[i] != group->partial[j])) return false;
    }
    return true;
}

bool sl_suballocator_is_valid(const struct sl_suballocator *suballocator)
{
    const struct sl_arena *arena = suballocator->arena;
    size_t chunks = sl_arena_chunk_count(arena);
    for (int g = 0; g < SL_GROUPS; g++)
        if (!is_group_valid(suballocator, &suballocator->groups[g])) return false;
    for (size_t c = 0; c < chunks; c++) {
        const struct sl_chunk_record *chunk = sl_arena_record(arena, (sl_chunk)c);
        if (chunk->group == SL_NONE) continue;
        if (!SL_HOLDS(chunk->group < SL_GROUPS) ||
            !SL_HOLDS((chunk->group == SL_GROUP_PINNED) == chunk->pinned) ||
            !SL_HOLDS((chunk->group == SL_GROUP_MAPPED) == sl_arena_is_reserved(arena, (sl_chunk)c)) ||
            !sl_chunk_bitmap_is_valid(chunk->bitmap))
            return false;
    }
    return true;
}

/* --- placement */

static bool is_interior_valid(const struct sl_slot *slot)
{
    if (!SL_HOLDS(slot->interior_count <= slot->interior_capacity)) return false;
    for (uint32_t i = 0; i < slot->interior_count; i++)
        if (!SL_HOLDS(slot->interior[i] > (i ? slot->interior[i - 1] : 0)) ||
            !SL_HOLDS(slot->interior[i] < slot->bytes))
            return false;
    return true;
}

static bool is_live_slot_valid(const struct sl_placement *placement, uint32_t s)
{
    const struct sl_slot *slot = &placement->slots[s];
    if (!SL_HOLDS(sl_place_find(placement, slot->address) == s) ||
        !SL_HOLDS(sl_place_find(placement, slot->address + slot->bytes - 1) == s))
        return false;
    if (placement->noted) return true;
    struct sl_chunk_range range = sl_slot_chunks(placement, slot, 0, slot->bytes);
    for (uint32_t i = 0; i < range.count; i++)
        if (!sl_chunk_is_valid(placement->arena, range.first + i) ||
            !SL_HOLDS(sl_arena_record(placement->arena, range.first + i)->pinned == slot->pinned))
            return false;
    return true;
}

static bool is_age_valid(const struct sl_slot_key *key, const struct sl_slot *slot, uint32_t s)
{
    return key->bytes > SL_TINY_BYTES || key->by_number || !slot->live ||
           (SL_HOLDS(slot->age < key->live_count) && SL_HOLDS(key->live_count <= key->count) &&
            SL_HOLDS(key->by_age[slot->age] == s));
}

/* A live slot that has a number of its site is who lives by that number's name. */
static bool is_number_valid(const struct sl_placement *placement, const struct sl_slot *slot, uint32_t s)
{
    const struct sl_site_names *names = &placement->names;
    uint32_t site = placement->keys[slot->key].site_index;
    if (!slot->number_of_site && !slot->stands_for) return true;
    if (!SL_HOLDS(site < names->count) || !SL_HOLDS(slot->stands_for <= names->sites[site].count) ||
        !SL_HOLDS(slot->number_of_site <= names->sites[site].count))
        return false;
    if (slot->stands_for && !SL_HOLDS(names->sites[site].numbers[slot->stands_for - 1].name == s))
        return false;
    if (!slot->number_of_site) return true;
    uint32_t name = names->sites[site].numbers[slot->number_of_site - 1].name;
    return SL_HOLDS(slot->live) && SL_HOLDS(names->sites[site].numbers[slot->number_of_site - 1].live == s) &&
           SL_HOLDS(name < placement->slot_count) &&
           SL_HOLDS(placement->slots[name].stands_for == slot->number_of_site);
}

bool sl_slot_is_valid(const struct sl_placement *placement, uint32_t s)
{
    if (!SL_HOLDS(s < placement->slot_count)) return false;
    const struct sl_slot *slot = &placement->slots[s];
    if (!SL_HOLDS(slot->key < placement->key_count)) return false;
    const struct sl_slot_key *key = &placement->keys[slot->key];
    return SL_HOLDS(slot->ordinal < key->count) && SL_HOLDS(key->slots[slot->ordinal] == s) &&
           SL_HOLDS(slot->site == key->site) && SL_HOLDS(slot->bytes == key->bytes) &&
           is_age_valid(key, slot, s) && is_number_valid(placement, slot, s) && is_interior_valid(slot) &&
           (!slot->live || is_live_slot_valid(placement, s));
}

struct slot_sums {
    uint64_t live, live_bytes, pinned_bytes;
    uint32_t slots;
};

static bool is_key_valid(const struct sl_placement *placement, uint32_t k, struct slot_sums *sums)
{
    const struct sl_slot_key *key = &placement->keys[k];
    if (!SL_HOLDS(key->count <= key->capacity) || !SL_HOLDS(key->lowest_free <= key->count)) return false;
    sums->slots += key->count;
    for (uint32_t i = 0; i < key->count; i++) {
        uint32_t s = key->slots[i];
        if (!sl_slot_is_valid(placement, s)) return false;
        const struct sl_slot *slot = &placement->slots[s];
        if (!SL_HOLDS(slot->key == k) || !SL_HOLDS(slot->ordinal == i) ||
            !SL_HOLDS(slot->live || i >= key->lowest_free))
            return false;
        if (!slot->live) continue;
        sums->live++;
        sums->live_bytes += slot->bytes;
        if (slot->pinned) sums->pinned_bytes += slot->bytes;
    }
    return true;
}

static bool is_free_list_valid(const struct sl_placement *placement)
{
    uint32_t s = placement->free_slot;
    for (uint32_t i = 0; i < placement->free_slots; i++, s = placement->slots[s].key)
        if (!SL_HOLDS(s < placement->slot_count) || !SL_HOLDS(!placement->slots[s].live) ||
            !SL_HOLDS(!placement->slots[s].bytes))
            return false;
    return true;
}

bool sl_placement_is_valid(const struct sl_placement *placement)
{
    struct slot_sums sums = {0};
    if (!SL_HOLDS(placement->slot_count <= placement->slot_capacity) || !is_free_list_valid(placement))
        return false;
    for (uint32_t k = 0; k < placement->key_count; k++)
        if (!is_key_valid(placement, k, &sums)) return false;
    return SL_HOLDS(sums.slots + placement->free_slots == placement->slot_count) &&
           SL_HOLDS(sums.live == placement->live_count) &&
           SL_HOLDS(sums.live_bytes == placement->live_bytes) &&
           SL_HOLDS(sums.pinned_bytes == placement->pinned_live_bytes) &&
           SL_HOLDS(placement->live_bytes <= placement->peak_live_bytes) &&
           SL_HOLDS(placement->pinned_live_bytes <= placement->peak_pinned_live_bytes) &&
           sl_suballocator_is_valid(&placement->suballocator) && sl_arena_is_valid(placement->arena);
}

size_t sl_placement_elements(const struct sl_placement *placement)
{
    size_t chunks = sl_arena_chunk_count(placement->arena), words = placement->arena->chunk_bytes >> 18;
    return placement->slot_count + chunks + placement->arena->chunks_used * words;
}
