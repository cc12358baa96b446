#include "memory/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "memory/memory_valid.h"

#define MOST_OF_OTHERS 64 /* free slots of other streams in a key before one of them is taken */

void sl_placement_init(struct sl_placement *placement, struct sl_arena *arena, uint64_t limit_bytes)
{
    memset(placement, 0, sizeof *placement);
    placement->arena = arena;
    placement->live_chunk_bytes_limit = placement->most_bytes = limit_bytes;
    placement->expected_slot = placement->expected_name = SL_NONE;
    sl_suballocator_init(&placement->suballocator, arena);
}

void sl_placement_close(struct sl_placement *placement)
{
    for (uint32_t i = 0; i < placement->slot_count; i++) free(placement->slots[i].interior);
    for (uint32_t i = 0; i < placement->key_count; i++) {
        free(placement->keys[i].slots);
        free(placement->keys[i].by_age);
    }
    free(placement->slots);
    free(placement->keys);
    sl_map_free(&placement->key_of);
    sl_site_groups_free(&placement->sites);
    sl_site_names_free(&placement->names);
    sl_ranges_free(&placement->ranges);
    memset(placement, 0, sizeof *placement);
}

static uint64_t key_hash(uint64_t site, uint64_t bytes)
{
    return sl_hash_word(sl_mix(site), bytes) | 1;
}

static uint32_t key_for(struct sl_placement *placement, uint64_t site, uint64_t bytes)
{
    uint64_t hash = key_hash(site, bytes);
    uint32_t key = sl_map_get(&placement->key_of, hash);
    /* Places depend on the key, so two that share a hash must differ. */
    for (; key != SL_NONE; key = sl_map_get(&placement->key_of, hash)) {
        if (placement->keys[key].site == site && placement->keys[key].bytes == bytes) return key;
        hash += 2;
    }
    if (!sl_grow(&placement->keys, &placement->key_capacity, placement->key_count, sizeof *placement->keys))
        return SL_NONE;
    uint32_t site_index = sl_site_groups_index(&placement->sites, site);
    if (site_index == SL_NONE || !sl_site_names_note_size(&placement->names, site_index,
                                                          bytes <= SL_TINY_BYTES, placement->allocations))
        return SL_NONE;
    key = placement->key_count;
    if (!sl_map_put(&placement->key_of, hash, key)) return SL_NONE;
    placement->keys[placement->key_count++] =
        (struct sl_slot_key){.site = site,
                             .bytes = bytes,
                             .site_index = site_index,
                             .pinned = sl_backing_of(&placement->backing, site, bytes) == SL_BACKING_PINNED};
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
    if (!sl_grow(&placement->slots, &placement->slot_capacity, placement->slot_count,
                 sizeof *placement->slots))
        return SL_NONE;
    return placement->slot_count++;
}

static uint32_t add_slot(struct sl_placement *placement, uint32_t k)
{
    struct sl_slot_key *key = &placement->keys[k];
    if (!sl_grow(&key->slots, &key->capacity, key->count, sizeof *key->slots)) return SL_NONE;
    uint32_t slot = new_slot(placement);
    if (slot == SL_NONE) return SL_NONE;
    placement->slots[slot] =
        (struct sl_slot){.site = key->site, .bytes = key->bytes, .key = k, .ordinal = key->count};
    key->slots[key->count++] = slot;
    return slot;
}

static bool suits_stream(const struct sl_placement *placement, const struct sl_slot *slot)
{
    return !placement->stream || !slot->home || slot->home == placement->stream;
}

/* The key's slot with the smallest ordinal that is neither live nor another stream's, whose memory would have
 * to be waited for; a new slot if there is none. The choice depends on the program's order alone. */
static uint32_t slot_for(struct sl_placement *placement, uint64_t site, uint64_t bytes)
{
    uint32_t k = key_for(placement, site, bytes);
    if (k == SL_NONE) return SL_NONE;
    struct sl_slot_key *key = &placement->keys[k];
    while (key->lowest_free < key->count && placement->slots[key->slots[key->lowest_free]].live)
        key->lowest_free++;
    uint32_t looked = 0;
    for (uint32_t i = key->lowest_free; i < key->count && looked < MOST_OF_OTHERS; i++) {
        const struct sl_slot *slot = &placement->slots[key->slots[i]];
        if (slot->live) continue;
        if (suits_stream(placement, slot)) return key->slots[i];
        looked++;
    }
    return looked < MOST_OF_OTHERS ? add_slot(placement, k) : key->slots[key->lowest_free];
}

/* Whether the allocation can be the expected one. */
static bool is_expected(const struct sl_placement *placement, uint64_t site, uint64_t bytes)
{
    if (placement->expected_slot >= placement->slot_count) return false;
    const struct sl_slot *slot = &placement->slots[placement->expected_slot];
    return !slot->live && slot->site == site && slot->bytes == bytes && suits_stream(placement, slot);
}

/* The number among its site's that is expected of the slot; SL_NONE: none is. */
static uint32_t expected_number(const struct sl_placement *placement, const struct sl_slot *slot)
{
    if (placement->expected_name >= placement->slot_count) return SL_NONE;
    const struct sl_slot *name = &placement->slots[placement->expected_name];
    return name->stands_for && name->site == slot->site ? name->stands_for - 1 : SL_NONE;
}

/* Whether the slot is the expected one, or another size of it that may lie there. */
static bool has_expected_place(const struct sl_placement *placement, uint32_t s)
{
    uint32_t expected = placement->expected_slot;
    return expected == s ||
           (expected < placement->slot_count && expected_number(placement, &placement->slots[s]) != SL_NONE &&
            suits_stream(placement, &placement->slots[expected]));
}

/* For an allocation at `address`: the slot of the key that last lay there, or else slot_for's. */
static uint32_t slot_for_place(struct sl_placement *placement, uint64_t site, uint64_t bytes,
                               uint64_t address)
{
    uint32_t k = key_for(placement, site, bytes);
    if (k == SL_NONE) return SL_NONE;
    const struct sl_slot_key *key = &placement->keys[k];
    for (uint32_t i = key->lowest_free; i < key->count; i++) {
        const struct sl_slot *slot = &placement->slots[key->slots[i]];
        if (!slot->live && slot->address == address) return key->slots[i];
    }
    return slot_for(placement, site, bytes);
}

bool sl_placement_remember(struct sl_placement *placement, uint64_t site, uint64_t bytes, uint32_t count,
                           bool freed)
{
    uint32_t k = key_for(placement, site, bytes);
    if (k == SL_NONE) return false;
    placement->keys[k].freed = freed;
    placement->names.more_sizes = 0; /* an earlier run's, all at once */
    while (count--)
        if (add_slot(placement, k) == SL_NONE) return false;
    return true;
}

static bool is_pinned(const struct sl_placement *placement, uint64_t address)
{
    return sl_arena_record(placement->arena, sl_arena_chunk(placement->arena, address))->pinned;
}

/* Neither tiny nor so large that it has chunks of its own. */
static bool is_packed(const struct sl_placement *placement, const struct sl_slot *slot)
{
    return slot->bytes > SL_TINY_BYTES && slot->bytes < placement->arena->chunk_bytes;
}

static uint32_t group_of(struct sl_placement *placement, const struct sl_slot *slot)
{
    const struct sl_slot_key *key = &placement->keys[slot->key];
    if (slot->bytes <= SL_TINY_BYTES) return SL_GROUP_TINY;
    uint32_t own = is_packed(placement, slot) ? sl_site_group(&placement->sites, key->site_index, slot->bytes,
                                                              placement->arena->chunk_bytes)
                                              : SL_NONE;
    if (own != SL_NONE) return SL_GROUP_OF_SITE + own;
    return key->freed ? SL_GROUP_FREED : SL_GROUP_LASTING;
}

/* Unused host memory. */
static uint64_t room_of(const struct sl_placement *placement)
{
    uint64_t taken = sl_arena_host_bytes(placement->arena) + placement->promised_bytes;
    return placement->live_chunk_bytes_limit > taken ? placement->live_chunk_bytes_limit - taken : 0;
}

static bool retake(struct sl_placement *placement, uint32_t s, uint64_t address, uint32_t group,
                   uint64_t room_bytes)
{
    return address &&
           sl_suballocator_retake(&placement->suballocator, address, placement->slots[s].bytes,
                                  is_pinned(placement, address) ? SL_GROUP_PINNED : group, room_bytes, s);
}

/* Whether much of the host memory is used, and part of that for nothing: then no room is left between
 * allocations. Otherwise those that begin with a chunk are in fewer chunks, and those that lie together are
 * more often used together. */
static bool is_short(const struct sl_placement *placement)
{
    uint64_t placed = sl_arena_moving_bytes(placement->arena), live = placement->live_bytes;
    uint64_t waste = placed > live ? placed - live : 0;
    return placed > placement->most_bytes / 8 && waste > placed / 16;
}

/* Takes the expected place or the last one if it is free, else a new one. Falls back to unpinned memory if no
 * pinned memory is left. */
static enum sl_status find_place(struct sl_placement *placement, uint32_t s, uint32_t group,
                                 uint64_t *address)
{
    const struct sl_slot *slot = &placement->slots[s];
    struct sl_suballocator *suballocator = &placement->suballocator;
    uint64_t room_bytes = room_of(placement);
    *address = has_expected_place(placement, s) ? placement->expected_address : 0;
    if (retake(placement, s, *address, group, room_bytes)) return SL_OK;
    *address = slot->mapped ? 0 : slot->address;
    if (retake(placement, s, *address, group, room_bytes)) return SL_OK;
    if (placement->keys[slot->key].pinned &&
        sl_suballocator_take(suballocator, slot->bytes, SL_GROUP_PINNED, room_bytes, s, address) == SL_OK)
        return SL_OK;
    suballocator->dense = is_short(placement);
    return sl_suballocator_take(suballocator, slot->bytes, group, room_bytes, s, address);
}

/* Whether the site's statistics count it: placed by this module and smaller than a chunk. */
static bool is_counted(const struct sl_placement *placement, const struct sl_slot *slot)
{
    return !placement->noted && !slot->mapped && !slot->block && is_packed(placement, slot);
}

static bool goes_by_age(const struct sl_slot_key *key)
{
    return key->bytes <= SL_TINY_BYTES && !key->by_number;
}

/* Makes the slot the youngest of its key. */
static void begin_age(struct sl_placement *placement, uint32_t s)
{
    struct sl_slot *slot = &placement->slots[s];
    struct sl_slot_key *key = &placement->keys[slot->key];
    if (!goes_by_age(key)) return;
    if (!key->live_count) key->home = slot->home;
    if (key->home != slot->home ||
        !sl_grow(&key->by_age, &key->age_capacity, key->live_count, sizeof *key->by_age)) {
        key->by_number = true;
        return;
    }
    slot->age = key->live_count;
    key->by_age[key->live_count++] = s;
}

static void end_age(struct sl_placement *placement, uint32_t s)
{
    struct sl_slot_key *key = &placement->keys[placement->slots[s].key];
    uint32_t age = placement->slots[s].age;
    if (!goes_by_age(key) || !SL_CHECK(age < key->live_count && key->by_age[age] == s)) return;
    key->live_count--;
    if (key->live_count - age > SL_MOST_YOUNGER) {
        key->by_age[age] = key->by_age[key->live_count];
        placement->slots[key->by_age[age]].age = age;
        return;
    }
    for (; age < key->live_count; age++) {
        key->by_age[age] = key->by_age[age + 1];
        placement->slots[key->by_age[age]].age = age;
    }
}

/* The number's name: a slot that is the name of no other number, or two allocations that live would share it.
 */
static bool name_number(struct sl_placement *placement, uint32_t site, uint32_t number, uint32_t s)
{
    uint32_t name = placement->slots[s].stands_for ? add_slot(placement, placement->slots[s].key) : s;
    if (name == SL_NONE) return false;
    placement->names.sites[site].numbers[number].name = name;
    placement->slots[name].stands_for = number + 1;
    return true;
}

/* Where the site's sizes vary, gives the slot the number that is expected, or another. */
static void begin_number(struct sl_placement *placement, uint32_t s)
{
    const struct sl_slot *slot = &placement->slots[s];
    uint32_t site = placement->keys[slot->key].site_index;
    if (!sl_site_varies(&placement->names, site)) return;
    uint32_t number =
        sl_site_names_take(&placement->names, site, s, slot->bytes, expected_number(placement, slot));
    if (number == SL_NONE) return;
    if (placement->names.sites[site].numbers[number].name == SL_NONE &&
        !name_number(placement, site, number, s))
        sl_site_names_give_back(&placement->names, site, number);
    else
        placement->slots[s].number_of_site = number + 1;
}

static void end_number(struct sl_placement *placement, uint32_t s)
{
    struct sl_slot *slot = &placement->slots[s];
    uint32_t site = placement->keys[slot->key].site_index;
    sl_site_names_note_free(&placement->names, site);
    if (!slot->number_of_site) return;
    sl_site_names_give_back(&placement->names, site, slot->number_of_site - 1);
    const struct sl_site_sizes *sizes = &placement->names.sites[site];
    for (uint32_t n = slot->number_of_site - 1; !sizes->by_number && n < sizes->live_count; n++) {
        struct sl_slot *younger = &placement->slots[sizes->numbers[n].live];
        if (younger->number_of_site == n + 1) break;
        younger->number_of_site = n + 1;
    }
    slot->number_of_site = 0;
}

uint32_t sl_slot_name(const struct sl_placement *placement, uint32_t s)
{
    const struct sl_slot *slot = &placement->slots[s];
    const struct sl_slot_key *key = &placement->keys[slot->key];
    if (slot->number_of_site)
        return placement->names.sites[key->site_index].numbers[slot->number_of_site - 1].name;
    return slot->live && goes_by_age(key) ? key->slots[slot->age] : s;
}

uint32_t sl_slot_freed_name(const struct sl_placement *placement, uint32_t s)
{
    const struct sl_slot *slot = &placement->slots[s];
    const struct sl_slot_key *key = &placement->keys[slot->key];
    if (slot->number_of_site)
        return sl_site_names_freed(&placement->names, key->site_index, slot->number_of_site - 1);
    return slot->live && goes_by_age(key) ? key->slots[key->live_count - 1] : s;
}

uint64_t sl_name_most_bytes(const struct sl_placement *placement, uint32_t name)
{
    const struct sl_slot *slot = &placement->slots[name];
    if (!slot->stands_for) return 0;
    return placement->names.sites[placement->keys[slot->key].site_index]
        .numbers[slot->stands_for - 1]
        .most_bytes;
}

uint32_t sl_slot_named(const struct sl_placement *placement, uint32_t name)
{
    const struct sl_slot *slot = &placement->slots[name];
    const struct sl_slot_key *key = &placement->keys[slot->key];
    if (slot->stands_for) return placement->names.sites[key->site_index].numbers[slot->stands_for - 1].live;
    if (!goes_by_age(key)) return slot->live ? name : SL_NONE;
    return slot->ordinal < key->live_count ? key->by_age[slot->ordinal] : SL_NONE;
}

static void begin_life(struct sl_placement *placement, uint32_t s, uint64_t address, bool pinned)
{
    struct sl_slot *slot = &placement->slots[s];
    placement->moves += slot->address && slot->address != address;
    slot->live = true;
    if (placement->stream) slot->home = (uint8_t)placement->stream;
    slot->address = address;
    slot->pinned = pinned;
    slot->mapped = slot->block = false;
    begin_age(placement, s);
    begin_number(placement, s); /* which may move the slots */
    slot = &placement->slots[s];
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
    end_number(placement, s);
    end_age(placement, s);
    slot->live = false;
    placement->version++;
    key->freed = true;
    if (is_counted(placement, slot)) sl_site_ends(&placement->sites, key->site_index, slot->bytes);
    if (slot->ordinal < key->lowest_free) key->lowest_free = slot->ordinal;
    placement->live_count--;
    placement->live_bytes -= slot->bytes;
    if (slot->pinned) placement->pinned_live_bytes -= slot->bytes;
}

/* Checks the changed slot, and everything at intervals that grow with its size. */
static void check(const struct sl_placement *placement, uint32_t s)
{
    SL_CHECK_ALL(sl_slot_is_valid(placement, s));
    SL_CHECK_ALL_SPARINGLY(sl_placement_elements(placement), sl_placement_is_valid(placement));
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
    if (bytes > placement->live_chunk_bytes_limit) return SL_ERR_NO_MEMORY;
    uint32_t s =
        is_expected(placement, site, bytes) ? placement->expected_slot : slot_for(placement, site, bytes);
    if (s == SL_NONE) return SL_ERR_NO_MEMORY;
    uint64_t address;
    uint32_t group = group_of(placement, &placement->slots[s]);
    enum sl_status status = find_place(placement, s, group, &address);
    if (status) return status;
    begin_life(placement, s, address, is_pinned(placement, address));
    if (is_counted(placement, &placement->slots[s]))
        sl_site_begins(&placement->sites, placement->keys[placement->slots[s].key].site_index, bytes);
    note_waste(placement);
    check(placement, s);
    *slot_out = s;
    return SL_OK;
}

enum sl_status sl_placement_promise(struct sl_placement *placement, uint64_t bytes)
{
    if (bytes > room_of(placement)) return SL_ERR_NO_MEMORY;
    placement->promised_bytes += bytes;
    return SL_OK;
}

void sl_placement_unpromise(struct sl_placement *placement, uint64_t bytes)
{
    if (SL_CHECK(bytes <= placement->promised_bytes)) placement->promised_bytes -= bytes;
}

enum sl_status sl_place_at(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                           uint32_t *slot_out)
{
    if (address % SL_BLOCK_BYTES || bytes % SL_BLOCK_BYTES) return SL_ERR_INVALID;
    uint32_t s = slot_for_place(placement, site, bytes, address);
    if (s == SL_NONE) return SL_ERR_NO_MEMORY;
    enum sl_status status = sl_suballocator_map(&placement->suballocator, address, bytes, s);
    if (status) return status;
    begin_life(placement, s, address, false);
    placement->slots[s].mapped = true;
    note_waste(placement);
    check(placement, s);
    *slot_out = s;
    return SL_OK;
}

enum sl_status sl_place_block(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                              uint32_t *slot_out)
{
    uint32_t s =
        is_expected(placement, site, bytes) ? placement->expected_slot : slot_for(placement, site, bytes);
    if (s == SL_NONE) return SL_ERR_NO_MEMORY;
    enum sl_status status =
        sl_suballocator_map(&placement->suballocator, address, sl_whole_granules(bytes), s);
    if (status) return status;
    begin_life(placement, s, address, false);
    placement->slots[s].block = true;
    note_waste(placement);
    check(placement, s);
    *slot_out = s;
    return SL_OK;
}

enum sl_status sl_place_noted(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                              uint32_t *slot_out)
{
    if (!bytes || address + bytes < address ||
        sl_ranges_overlap(&placement->ranges, address, address + bytes) != SL_NONE)
        return SL_ERR_INVALID;
    uint32_t s = slot_for(placement, site, bytes);
    if (s == SL_NONE) return SL_ERR_NO_MEMORY;
    if (!sl_arena_note(address, bytes)) return SL_ERR_INVALID;
    if (!sl_ranges_put(&placement->ranges, address, address + bytes, s)) return SL_ERR_NO_MEMORY;
    begin_life(placement, s, address, false);
    check(placement, s);
    *slot_out = s;
    return SL_OK;
}

/* As the suballocator was told. */
static uint64_t placed_bytes(const struct sl_slot *slot)
{
    return slot->block ? sl_whole_granules(slot->bytes) : slot->bytes;
}

enum sl_status sl_unplace(struct sl_placement *placement, uint64_t address, uint32_t *slot_out)
{
    uint32_t s = sl_place_find(placement, address);
    if (s == SL_NONE || placement->slots[s].address != address) return SL_ERR_INVALID;
    if (!SL_CHECK(placement->slots[s].live && placement->slots[s].bytes <= placement->live_bytes))
        return SL_ERR_INVALID;
    end_life(placement, s);
    if (placement->noted)
        sl_ranges_remove(&placement->ranges, address);
    else
        sl_suballocator_give_back(&placement->suballocator, address, placed_bytes(&placement->slots[s]));
    check(placement, s);
    *slot_out = s;
    return SL_OK;
}

uint32_t sl_placement_remembered(const struct sl_placement *placement)
{
    return placement->slot_count - placement->free_slots - (uint32_t)placement->live_count;
}

/* Removes the key's slots that are not live. True: live ones remain. */
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
            slot->number_of_site = slot->stands_for = 0;
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

/* Keeps only the statistics of sites with live allocations. Does nothing if out of memory. */
static void forget_sites(struct sl_placement *placement)
{
    struct sl_site_groups sites = {0};
    for (uint32_t k = 0; k < placement->key_count; k++)
        if (sl_site_groups_index(&sites, placement->keys[k].site) == SL_NONE) {
            sl_site_groups_free(&sites);
            return;
        }
    for (uint32_t k = 0; k < placement->key_count; k++) {
        struct sl_slot_key *key = &placement->keys[k];
        key->site_index = sl_site_groups_index(&sites, key->site);
        for (uint32_t i = 0; i < key->count; i++)
            if (is_counted(placement, &placement->slots[key->slots[i]]))
                sl_site_begins(&sites, key->site_index, key->bytes);
    }
    sl_site_groups_free(&placement->sites);
    placement->sites = sites;
}

/* Live allocations have their slots as names again. That sizes vary is not forgotten. */
static void forget_names(struct sl_placement *placement)
{
    bool vary = placement->names.vary;
    sl_site_names_free(&placement->names);
    for (uint32_t k = 0; k < placement->key_count; k++)
        sl_site_names_note_size(&placement->names, placement->keys[k].site_index,
                                placement->keys[k].bytes <= SL_TINY_BYTES, placement->allocations);
    placement->names.vary = vary;
}

void sl_placement_forget(struct sl_placement *placement)
{
    uint32_t kept = 0;
    sl_map_free(&placement->key_of);
    for (uint32_t k = 0; k < placement->key_count; k++) {
        struct sl_slot_key key = placement->keys[k];
        if (!keep_live(placement, &key, kept)) {
            free(key.slots);
            free(key.by_age);
            continue;
        }
        uint64_t hash = key_hash(key.site, key.bytes);
        while (sl_map_get(&placement->key_of, hash) != SL_NONE) hash += 2;
        placement->keys[kept] = key;
        /* If this fails, the next such allocation gets a new key. */
        sl_map_put(&placement->key_of, hash, kept++);
    }
    placement->key_count = kept;
    forget_sites(placement);
    forget_names(placement);
    SL_CHECK_ALL(sl_placement_is_valid(placement));
}

uint32_t sl_place_find(const struct sl_placement *placement, uint64_t address)
{
    if (placement->noted) return sl_ranges_find(&placement->ranges, address);
    uint32_t s = sl_suballocator_slot(placement->arena, address);
    if (s == SL_NONE || !SL_CHECK(s < placement->slot_count)) return SL_NONE;
    const struct sl_slot *slot = &placement->slots[s];
    return address < slot->address + slot->bytes ? s : SL_NONE;
}

struct sl_chunk_range sl_slot_chunks(const struct sl_placement *placement, const struct sl_slot *slot,
                                     uint64_t offset, uint64_t bytes)
{
    return sl_slot_chunks_at(placement, slot, slot->address, offset, bytes);
}

struct sl_chunk_range sl_slot_chunks_at(const struct sl_placement *placement, const struct sl_slot *slot,
                                        uint64_t address, uint64_t offset, uint64_t bytes)
{
    const struct sl_arena *arena = placement->arena;
    if (!address) return (struct sl_chunk_range){0};
    uint64_t end = offset + (bytes ? bytes : 1);
    if ((end > slot->bytes && !slot->mapped) || end < offset) end = slot->bytes;
    sl_chunk first = sl_arena_chunk(arena, address);
    uint64_t base = address & (arena->chunk_bytes - 1);
    uint32_t from = (uint32_t)((base + offset) >> arena->chunk_shift);
    uint32_t to = (uint32_t)((base + end - 1) >> arena->chunk_shift);
    return (struct sl_chunk_range){first + from, to - from + 1};
}
