#include "place.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INTERIOR 65536u

_Static_assert(SL_NO_RANGE == SL_MAP_NONE, "no slot");

void sl_placement_init(struct sl_placement *placement, struct sl_arena *arena, uint64_t limit_bytes)
{
    memset(placement, 0, sizeof *placement);
    placement->arena = arena;
    placement->live_chunk_bytes_limit = limit_bytes;
    for (int g = 0; g < SL_GROUPS; g++) {
        placement->groups[g].open = SL_NO_CHUNK;
        for (int i = 0; i < SL_PARTIAL; i++) placement->groups[g].partial[i] = SL_NO_CHUNK;
    }
}

void sl_placement_close(struct sl_placement *placement)
{
    for (uint32_t i = 0; i < placement->slot_count; i++) free(placement->slots[i].interior);
    for (uint32_t i = 0; i < placement->key_count; i++) free(placement->keys[i].slots);
    free(placement->slots);
    free(placement->keys);
    sl_map_free(&placement->key_of);
    sl_ranges_free(&placement->ranges);
    memset(placement, 0, sizeof *placement);
}

/* Makes room for one more element of `size` bytes in a growing array. */
static bool reserve(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return true;
    uint32_t wanted = *capacity ? *capacity * 2 : 16;
    void *larger = realloc(*(void **)array, wanted * size);
    if (!larger) return false;
    *(void **)array = larger;
    *capacity = wanted;
    return true;
}

static uint64_t key_hash(uint64_t site, uint64_t bytes)
{
    return sl_hash_word(sl_mix(site), bytes) | 1;
}

static uint32_t key_for(struct sl_placement *placement, uint64_t site, uint64_t bytes)
{
    uint64_t hash = key_hash(site, bytes);
    uint32_t key = sl_map_get(&placement->key_of, hash);
    /* Memory depends on it, so two that share a hash are told apart. */
    for (; key != SL_MAP_NONE; key = sl_map_get(&placement->key_of, hash)) {
        if (placement->keys[key].site == site && placement->keys[key].bytes == bytes) return key;
        hash += 2;
    }
    if (!reserve(&placement->keys, placement->key_count, &placement->key_capacity, sizeof *placement->keys))
        return SL_MAP_NONE;
    key = placement->key_count;
    if (!sl_map_put(&placement->key_of, hash, key)) return SL_MAP_NONE;
    placement->keys[placement->key_count++] = (struct sl_slot_key){
        .site = site, .bytes = bytes, .pinned = sl_backing_is_pinned(&placement->backing, site, bytes)};
    return key;
}

static uint32_t new_slot(struct sl_placement *placement)
{
    if (placement->free_slots) {
        uint32_t slot = placement->free_slot;
        placement->free_slot = placement->slots[slot].key;
        placement->free_slots--;
        return slot;
    }
    if (!reserve(&placement->slots, placement->slot_count, &placement->slot_capacity,
                 sizeof *placement->slots))
        return SL_MAP_NONE;
    return placement->slot_count++;
}

static uint32_t add_slot(struct sl_placement *placement, uint32_t k)
{
    struct sl_slot_key *key = &placement->keys[k];
    if (!reserve(&key->slots, key->count, &key->capacity, sizeof *key->slots)) return SL_MAP_NONE;
    uint32_t slot = new_slot(placement);
    if (slot == SL_MAP_NONE) return SL_MAP_NONE;
    placement->slots[slot] =
        (struct sl_slot){.site = key->site, .bytes = key->bytes, .key = k, .ordinal = key->count};
    key->slots[key->count++] = slot;
    return slot;
}

/* The smallest ordinal of the key that is not live; a new slot where all are. */
static uint32_t slot_for(struct sl_placement *placement, uint64_t site, uint64_t bytes)
{
    uint32_t k = key_for(placement, site, bytes);
    if (k == SL_MAP_NONE) return SL_MAP_NONE;
    struct sl_slot_key *key = &placement->keys[k];
    while (key->lowest_free < key->count && placement->slots[key->slots[key->lowest_free]].live)
        key->lowest_free++;
    return key->lowest_free < key->count ? key->slots[key->lowest_free] : add_slot(placement, k);
}

bool sl_placement_remember(struct sl_placement *placement, uint64_t site, uint64_t bytes, uint32_t count,
                           bool freed)
{
    uint32_t k = key_for(placement, site, bytes);
    if (k == SL_MAP_NONE) return false;
    placement->keys[k].freed = freed;
    while (count--)
        if (add_slot(placement, k) == SL_MAP_NONE) return false;
    return true;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + SL_ALLOCATION_ALIGN - 1) & ~(uint64_t)(SL_ALLOCATION_ALIGN - 1);
}

static bool is_packed(const struct sl_chunk_record *chunk)
{
    return chunk->group != SL_NO_GROUP;
}

static uint32_t granules_of(uint64_t bytes)
{
    return (uint32_t)(padded(bytes) / SL_GRANULE_BYTES);
}

static uint32_t granule_at(const struct sl_chunk_record *chunk, uint64_t address)
{
    return (uint32_t)((address - chunk->address) / SL_GRANULE_BYTES);
}

static uint32_t group_of(const struct sl_placement *placement, const struct sl_slot *slot, bool pinned)
{
    return pinned ? SL_GROUP_PINNED : placement->keys[slot->key].freed;
}

/* Makes a chunk that was just taken one of group `group`. False: out of memory; the chunk is given back. */
static bool begin_packing(struct sl_placement *placement, sl_chunk c, uint32_t group)
{
    struct sl_chunk_record *chunk = sl_arena_record(placement->arena, c);
    if (!chunk->packing)
        chunk->packing = sl_packing_new((uint32_t)(placement->arena->chunk_bytes / SL_GRANULE_BYTES));
    if (!chunk->packing) {
        sl_arena_give(placement->arena, c);
        return false;
    }
    chunk->group = group;
    return true;
}

/* The slot's last place, if all of it is free. */
static uint64_t try_last_place(struct sl_placement *placement, const struct sl_slot *slot)
{
    struct sl_arena *arena = placement->arena;
    if (!slot->address) return 0;
    sl_chunk c = sl_arena_chunk(arena, slot->address);
    if (slot->bytes > arena->chunk_bytes / 2)
        return sl_arena_take_at(arena, c, slot->bytes) ? slot->address : 0;
    struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    if (chunk->bytes == 0) {
        bool taken = sl_arena_take_at(arena, c, arena->chunk_bytes) &&
                     begin_packing(placement, c, group_of(placement, slot, chunk->pinned));
        return taken ? slot->address : 0;
    }
    bool fits = is_packed(chunk) && sl_packing_is_free(chunk->packing, granule_at(chunk, slot->address),
                                                       granules_of(slot->bytes));
    return fits ? slot->address : 0;
}

static enum sl_status take(const struct sl_placement *placement, uint64_t bytes, bool pinned, sl_chunk *first)
{
    struct sl_arena *arena = placement->arena;
    if (!pinned) return sl_arena_take(arena, bytes, first);
    uint64_t taken = sl_arena_host_bytes(arena), limit = placement->live_chunk_bytes_limit;
    return sl_arena_take_pinned(arena, bytes, limit > taken ? limit - taken : 0, first);
}

static enum sl_status pack(struct sl_placement *placement, const struct sl_slot *slot, bool pinned,
                           uint64_t *address)
{
    struct sl_arena *arena = placement->arena;
    uint32_t g = group_of(placement, slot, pinned);
    struct sl_group *group = &placement->groups[g];
    for (int i = -1; i < SL_PARTIAL; i++) {
        sl_chunk candidate = i < 0 ? group->open : group->partial[i];
        uint32_t granule;
        if (candidate == SL_NO_CHUNK) continue;
        const struct sl_chunk_record *chunk = sl_arena_record(arena, candidate);
        if (chunk->group != g || !sl_packing_gap(chunk->packing, granules_of(slot->bytes), &granule))
            continue;
        *address = chunk->address + (uint64_t)granule * SL_GRANULE_BYTES;
        return SL_OK;
    }
    sl_chunk fresh;
    enum sl_status status = take(placement, arena->chunk_bytes, pinned, &fresh);
    if (status) return status;
    if (!begin_packing(placement, fresh, g)) return SL_ERR_NO_MEMORY;
    group->open = fresh;
    *address = sl_arena_record(arena, fresh)->address;
    return SL_OK;
}

static enum sl_status find_new_place(struct sl_placement *placement, const struct sl_slot *slot, bool pinned,
                                     uint64_t *address)
{
    struct sl_arena *arena = placement->arena;
    if (slot->bytes <= arena->chunk_bytes / 2) return pack(placement, slot, pinned, address);
    sl_chunk first;
    enum sl_status status = take(placement, slot->bytes, pinned, &first);
    if (status == SL_OK) *address = sl_arena_record(arena, first)->address;
    return status;
}

/* Where there is no pinned memory left, the other will do. */
static enum sl_status find_place(struct sl_placement *placement, const struct sl_slot *slot,
                                 uint64_t *address)
{
    *address = try_last_place(placement, slot);
    if (*address) return SL_OK;
    if (placement->keys[slot->key].pinned && find_new_place(placement, slot, true, address) == SL_OK)
        return SL_OK;
    return find_new_place(placement, slot, false, address);
}

static void begin_life(struct sl_placement *placement, uint32_t s, uint64_t address, bool pinned)
{
    struct sl_slot *slot = &placement->slots[s];
    placement->moves += slot->address && slot->address != address;
    slot->live = true;
    slot->address = address;
    slot->pinned = pinned;
    placement->version++;
    placement->live_count++;
    placement->live_bytes += slot->bytes;
    if (placement->live_bytes > placement->peak_live_bytes)
        placement->peak_live_bytes = placement->live_bytes;
    if (!pinned) return;
    placement->pinned_live_bytes += slot->bytes;
    if (placement->pinned_live_bytes > placement->peak_pinned_live_bytes)
        placement->peak_pinned_live_bytes = placement->pinned_live_bytes;
}

static void end_life(struct sl_placement *placement, uint32_t s)
{
    struct sl_slot *slot = &placement->slots[s];
    struct sl_slot_key *key = &placement->keys[slot->key];
    slot->live = false;
    placement->version++;
    key->freed = true;
    if (slot->ordinal < key->lowest_free) key->lowest_free = slot->ordinal;
    placement->live_count--;
    placement->live_bytes -= slot->bytes;
    if (slot->pinned) placement->pinned_live_bytes -= slot->bytes;
}

static void note_waste(struct sl_placement *placement)
{
    uint64_t placed = placement->arena->virtual_bytes_used, live = placement->live_bytes;
    if (placed < placement->peak_placed_bytes) return;
    if (placed > placement->peak_placed_bytes || live > placement->live_at_peak)
        placement->live_at_peak = live;
    placement->peak_placed_bytes = placed;
}

enum sl_status sl_place(struct sl_placement *placement, uint64_t bytes, uint64_t site, uint32_t *slot_out)
{
    struct sl_arena *arena = placement->arena;
    if (bytes > placement->live_chunk_bytes_limit) return SL_ERR_NO_MEMORY;
    uint32_t s = slot_for(placement, site, bytes);
    if (s == SL_MAP_NONE) return SL_ERR_NO_MEMORY;
    struct sl_slot *slot = &placement->slots[s];
    uint64_t address = 0;
    enum sl_status status = find_place(placement, slot, &address);
    if (status) return status;
    sl_chunk first = sl_arena_chunk(arena, address);
    struct sl_chunk_record *chunk = sl_arena_record(arena, first);
    if (sl_arena_host_bytes(arena) > placement->live_chunk_bytes_limit) {
        if (!is_packed(chunk) || chunk->packing->count == 0) sl_arena_give(arena, first);
        return SL_ERR_NO_MEMORY;
    }
    if (is_packed(chunk))
        sl_packing_take(chunk->packing, granule_at(chunk, address), granules_of(bytes), s);
    else
        chunk->run_slot = s;
    begin_life(placement, s, address, chunk->pinned);
    note_waste(placement);
    *slot_out = s;
    return SL_OK;
}

enum sl_status sl_place_noted(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                              uint32_t *slot_out)
{
    if (!bytes || address + bytes < address ||
        sl_ranges_overlap(&placement->ranges, address, address + bytes) != SL_NO_RANGE)
        return SL_ERR_INVALID;
    uint32_t s = slot_for(placement, site, bytes);
    if (s == SL_MAP_NONE) return SL_ERR_NO_MEMORY;
    if (!sl_arena_note(address, bytes)) return SL_ERR_INVALID;
    if (!sl_ranges_put(&placement->ranges, address, address + bytes, s)) return SL_ERR_NO_MEMORY;
    begin_life(placement, s, address, false);
    *slot_out = s;
    return SL_OK;
}

/* Takes the slot out of its chunk, which is given back when nothing else lies in it. */
static void leave_chunk(struct sl_placement *placement, uint64_t address)
{
    struct sl_arena *arena = placement->arena;
    sl_chunk first = sl_arena_chunk(arena, address);
    struct sl_chunk_record *chunk = sl_arena_record(arena, first);
    if (is_packed(chunk)) sl_packing_leave(chunk->packing, granule_at(chunk, address));
    if (!is_packed(chunk) || chunk->packing->count == 0) {
        sl_arena_give(arena, first);
    } else {
        struct sl_group *group = &placement->groups[chunk->group];
        group->partial[group->partial_next++ % SL_PARTIAL] = first;
    }
}

enum sl_status sl_unplace(struct sl_placement *placement, uint64_t address, uint32_t *slot_out)
{
    uint32_t s = sl_place_find(placement, address);
    if (s == SL_MAP_NONE || placement->slots[s].address != address) return SL_ERR_INVALID;
    end_life(placement, s);
    if (placement->noted)
        sl_ranges_remove(&placement->ranges, address);
    else
        leave_chunk(placement, address);
    *slot_out = s;
    return SL_OK;
}

uint32_t sl_placement_remembered(const struct sl_placement *placement)
{
    return placement->slot_count - placement->free_slots - (uint32_t)placement->live_count;
}

/* Leaves the key its live slots only. True if there are any. */
static bool keep_live(struct sl_placement *placement, struct sl_slot_key *key, uint32_t number)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < key->count; i++) {
        uint32_t s = key->slots[i];
        struct sl_slot *slot = &placement->slots[s];
        if (slot->live) {
            slot->key = number;
            slot->ordinal = kept;
            slot->taken = slot->freed = 0;
            key->slots[kept++] = s;
            continue;
        }
        free(slot->interior);
        *slot = (struct sl_slot){.key = placement->free_slot};
        placement->free_slot = s;
        placement->free_slots++;
    }
    key->count = key->lowest_free = kept;
    return kept > 0;
}

void sl_placement_forget(struct sl_placement *placement)
{
    uint32_t kept = 0;
    sl_map_free(&placement->key_of);
    for (uint32_t k = 0; k < placement->key_count; k++) {
        struct sl_slot_key key = placement->keys[k];
        if (!keep_live(placement, &key, kept)) {
            free(key.slots);
            continue;
        }
        uint64_t hash = key_hash(key.site, key.bytes);
        while (sl_map_get(&placement->key_of, hash) != SL_MAP_NONE) hash += 2;
        placement->keys[kept] = key;
        /* Without memory for the entry the next such allocation gets a key of its own. */
        sl_map_put(&placement->key_of, hash, kept++);
    }
    placement->key_count = kept;
}

uint32_t sl_place_find(const struct sl_placement *placement, uint64_t address)
{
    if (placement->noted) return sl_ranges_find(&placement->ranges, address);
    sl_chunk c = sl_arena_chunk(placement->arena, address);
    if (c == SL_NO_CHUNK) return SL_MAP_NONE;
    const struct sl_chunk_record *chunk = sl_arena_record(placement->arena, c);
    uint32_t first, s = is_packed(chunk) ? sl_packing_find(chunk->packing, granule_at(chunk, address), &first)
                                         : sl_arena_record(placement->arena, chunk->run)->run_slot;
    if (s == SL_NO_SLOT) return SL_MAP_NONE;
    const struct sl_slot *slot = &placement->slots[s];
    return address < slot->address + slot->bytes ? s : SL_MAP_NONE;
}

struct sl_chunk_range sl_slot_chunks(const struct sl_placement *placement, const struct sl_slot *slot,
                                     uint64_t offset, uint64_t bytes)
{
    const struct sl_arena *arena = placement->arena;
    if (!slot->address) return (struct sl_chunk_range){0};
    uint64_t end = offset + (bytes ? bytes : 1);
    if (end > slot->bytes || end < offset) end = slot->bytes;
    sl_chunk first = sl_arena_chunk(arena, slot->address);
    uint64_t base = slot->address & (arena->chunk_bytes - 1);
    uint32_t from = (uint32_t)((base + offset) >> arena->chunk_shift);
    uint32_t to = (uint32_t)((base + end - 1) >> arena->chunk_shift);
    return (struct sl_chunk_range){first + from, to - from + 1};
}

static uint32_t interior_from(const struct sl_slot *slot, uint64_t offset)
{
    uint32_t low = 0, high = slot->interior_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (slot->interior[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool sl_slot_learn(struct sl_slot *slot, uint64_t offset)
{
    if (!offset) return false;
    uint32_t at = interior_from(slot, offset);
    if (at < slot->interior_count && slot->interior[at] == offset) return false;
    if (slot->interior_count == MAX_INTERIOR ||
        !reserve(&slot->interior, slot->interior_count, &slot->interior_capacity, sizeof *slot->interior))
        return false;
    memmove(&slot->interior[at + 1], &slot->interior[at],
            (slot->interior_count - at) * sizeof *slot->interior);
    slot->interior[at] = offset;
    slot->interior_count++;
    return true;
}

uint64_t sl_slot_extent_end(const struct sl_slot *slot, uint64_t offset)
{
    uint32_t at = interior_from(slot, offset + 1);
    return at < slot->interior_count ? slot->interior[at] : slot->bytes;
}
