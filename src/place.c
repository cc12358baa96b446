#include "place.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INTERIOR 65536u

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

static uint32_t key_for(struct sl_placement *placement, uint64_t site, uint64_t bytes)
{
    uint64_t hash = sl_hash_word(sl_hash_word(site, bytes), 1) | 1;
    uint32_t key = sl_map_get(&placement->key_of, hash);
    if (key != SL_MAP_NONE) return key;
    if (!reserve(&placement->keys, placement->key_count, &placement->key_capacity, sizeof *placement->keys))
        return SL_MAP_NONE;
    key = placement->key_count;
    if (!sl_map_put(&placement->key_of, hash, key)) return SL_MAP_NONE;
    placement->keys[placement->key_count++] = (struct sl_slot_key){0};
    return key;
}

/* The smallest ordinal of the key that is not live; a new slot where all are. */
static uint32_t slot_for(struct sl_placement *placement, uint64_t site, uint64_t bytes)
{
    uint32_t k = key_for(placement, site, bytes);
    if (k == SL_MAP_NONE) return SL_MAP_NONE;
    struct sl_slot_key *key = &placement->keys[k];
    while (key->lowest_free < key->count && placement->slots[key->slots[key->lowest_free]].live)
        key->lowest_free++;
    if (key->lowest_free < key->count) return key->slots[key->lowest_free];
    if (!reserve(&key->slots, key->count, &key->capacity, sizeof *key->slots) ||
        !reserve(&placement->slots, placement->slot_count, &placement->slot_capacity,
                 sizeof *placement->slots))
        return SL_MAP_NONE;
    uint32_t slot = placement->slot_count++;
    placement->slots[slot] = (struct sl_slot){.site = site, .bytes = bytes, .key = k, .ordinal = key->count};
    key->slots[key->count++] = slot;
    return slot;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + SL_ALLOCATION_ALIGN - 1) & ~(uint64_t)(SL_ALLOCATION_ALIGN - 1);
}

/* Index of the first part of `chunk` that ends behind `address`. */
static uint32_t part_from(const struct sl_chunk_record *chunk, uint64_t address)
{
    uint32_t low = 0, high = chunk->part_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (chunk->parts[middle].address + padded(chunk->parts[middle].bytes) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert_part(struct sl_chunk_record *chunk, uint64_t address, uint64_t bytes, uint32_t slot)
{
    if (!reserve(&chunk->parts, chunk->part_count, &chunk->part_capacity, sizeof *chunk->parts)) return false;
    uint32_t at = part_from(chunk, address);
    memmove(&chunk->parts[at + 1], &chunk->parts[at], (chunk->part_count - at) * sizeof *chunk->parts);
    chunk->parts[at] = (struct sl_part){address, bytes, slot};
    chunk->part_count++;
    return true;
}

/* A gap of `bytes` in a packed chunk, the last one first: after the newest neighbour is where it usually is.
 */
static uint64_t find_gap(const struct sl_arena *arena, sl_chunk c, uint64_t bytes)
{
    const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
    uint64_t end = chunk->address + arena->chunk_bytes;
    for (uint32_t i = chunk->part_count; i-- > 0;) {
        uint64_t begin = chunk->parts[i].address + padded(chunk->parts[i].bytes);
        if (end - begin >= bytes) return begin;
        end = chunk->parts[i].address;
    }
    return end - chunk->address >= bytes ? chunk->address : 0;
}

static bool is_packed(const struct sl_chunk_record *chunk)
{
    return chunk->group != SL_NO_GROUP;
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
        if (!sl_arena_take_at(arena, c, arena->chunk_bytes)) return 0;
        chunk->group = placement->keys[slot->key].freed;
        return slot->address;
    }
    if (!is_packed(chunk)) return 0;
    uint32_t next = part_from(chunk, slot->address);
    bool fits =
        next == chunk->part_count || chunk->parts[next].address >= slot->address + padded(slot->bytes);
    return fits ? slot->address : 0;
}

static enum sl_status pack(struct sl_placement *placement, const struct sl_slot *slot, uint64_t *address)
{
    struct sl_arena *arena = placement->arena;
    uint32_t g = placement->keys[slot->key].freed;
    struct sl_group *group = &placement->groups[g];
    uint64_t bytes = padded(slot->bytes);
    for (int i = -1; i < SL_PARTIAL; i++) {
        sl_chunk candidate = i < 0 ? group->open : group->partial[i];
        if (candidate == SL_NO_CHUNK || sl_arena_record(arena, candidate)->group != g) continue;
        *address = find_gap(arena, candidate, bytes);
        if (*address) return SL_OK;
    }
    sl_chunk fresh;
    enum sl_status status = sl_arena_take(arena, arena->chunk_bytes, &fresh);
    if (status) return status;
    struct sl_chunk_record *chunk = sl_arena_record(arena, fresh);
    chunk->group = g;
    group->open = fresh;
    *address = chunk->address;
    return SL_OK;
}

static enum sl_status find_place(struct sl_placement *placement, const struct sl_slot *slot,
                                 uint64_t *address)
{
    struct sl_arena *arena = placement->arena;
    *address = try_last_place(placement, slot);
    if (*address) return SL_OK;
    if (slot->bytes <= arena->chunk_bytes / 2) return pack(placement, slot, address);
    sl_chunk first;
    enum sl_status status = sl_arena_take(arena, slot->bytes, &first);
    if (status == SL_OK) *address = sl_arena_record(arena, first)->address;
    return status;
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
    if (arena->virtual_bytes_used > placement->live_chunk_bytes_limit ||
        !insert_part(chunk, address, bytes, s)) {
        if (chunk->part_count == 0) sl_arena_give(arena, first);
        return SL_ERR_NO_MEMORY;
    }
    slot->live = true;
    slot->address = address;
    placement->version++;
    placement->live_count++;
    placement->live_bytes += bytes;
    if (placement->live_bytes > placement->peak_live_bytes)
        placement->peak_live_bytes = placement->live_bytes;
    *slot_out = s;
    return SL_OK;
}

enum sl_status sl_unplace(struct sl_placement *placement, uint64_t address, uint32_t *slot_out)
{
    struct sl_arena *arena = placement->arena;
    sl_chunk first = sl_arena_chunk(arena, address);
    if (first == SL_NO_CHUNK) return SL_ERR_INVALID;
    struct sl_chunk_record *chunk = sl_arena_record(arena, first);
    uint32_t at = part_from(chunk, address);
    if (at == chunk->part_count || chunk->parts[at].address != address) return SL_ERR_INVALID;
    uint32_t s = chunk->parts[at].slot;
    memmove(&chunk->parts[at], &chunk->parts[at + 1], (--chunk->part_count - at) * sizeof *chunk->parts);
    struct sl_slot *slot = &placement->slots[s];
    struct sl_slot_key *key = &placement->keys[slot->key];
    slot->live = false;
    placement->version++;
    key->freed = true;
    if (slot->ordinal < key->lowest_free) key->lowest_free = slot->ordinal;
    placement->live_count--;
    placement->live_bytes -= slot->bytes;
    if (chunk->part_count == 0) {
        sl_arena_give(arena, first);
    } else {
        struct sl_group *group = &placement->groups[chunk->group];
        group->partial[group->partial_next++ % SL_PARTIAL] = first;
    }
    *slot_out = s;
    return SL_OK;
}

uint32_t sl_place_find(const struct sl_placement *placement, uint64_t address)
{
    sl_chunk c = sl_arena_chunk(placement->arena, address);
    if (c == SL_NO_CHUNK) return SL_MAP_NONE;
    const struct sl_chunk_record *chunk = sl_arena_record(placement->arena, c);
    if (chunk->run != c) chunk = sl_arena_record(placement->arena, chunk->run);
    uint32_t at = part_from(chunk, address);
    if (at == chunk->part_count) return SL_MAP_NONE;
    const struct sl_part *part = &chunk->parts[at];
    return address >= part->address && address < part->address + part->bytes ? part->slot : SL_MAP_NONE;
}

struct sl_chunk_range sl_slot_chunks(const struct sl_placement *placement, const struct sl_slot *slot,
                                     uint64_t offset, uint64_t bytes)
{
    const struct sl_arena *arena = placement->arena;
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
