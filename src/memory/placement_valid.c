#include "memory/placement_valid.h"

#include "base/check.h"
#include "memory/arena_valid.h"

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

bool sl_slot_is_valid(const struct sl_placement *placement, uint32_t s)
{
    if (!SL_HOLDS(s < placement->slot_count)) return false;
    const struct sl_slot *slot = &placement->slots[s];
    if (!SL_HOLDS(slot->key < placement->key_count)) return false;
    const struct sl_slot_key *key = &placement->keys[slot->key];
    return SL_HOLDS(slot->ordinal < key->count) && SL_HOLDS(key->slots[slot->ordinal] == s) &&
           SL_HOLDS(slot->site == key->site) && SL_HOLDS(slot->bytes == key->bytes) &&
           is_age_valid(key, slot, s) && is_interior_valid(slot) &&
           (!slot->live || is_live_slot_valid(placement, s));
}

struct sums {
    uint64_t live, live_bytes, pinned_bytes;
    uint32_t slots;
};

static bool is_key_valid(const struct sl_placement *placement, uint32_t k, struct sums *sums)
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
    struct sums sums = {0};
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
