#include "core/blocks.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"
#include "core/core.h"
#include "core/feed.h"

void sl_blocks_close(struct sl_blocks *blocks)
{
    free(blocks->mappings);
    sl_ranges_free(&blocks->by_address);
    *blocks = (struct sl_blocks){0};
}

static struct sl_divided *mapping_at(const struct sl_blocks *blocks, uint64_t address)
{
    uint32_t s = sl_ranges_find(&blocks->by_address, address);
    return s == SL_NONE ? NULL : &blocks->mappings[s];
}

static uint64_t end_of(const struct sl_divided *mapping)
{
    return mapping->address + mapping->bytes;
}

/* --- mappings */

/* The program mapped it after the last launch began, so no launch can have used it. */
static bool is_new_mapping(const struct sl_core *core, const struct sl_slot *slot)
{
    return slot->live && slot->mapped && slot->mapped_at == core->history.ticks.now + 1;
}

static bool add_mapping(struct sl_blocks *blocks, const struct sl_slot *slot)
{
    uint32_t index = 0;
    while (index < blocks->count && blocks->mappings[index].bytes) index++;
    if (index == blocks->count &&
        !sl_grow(&blocks->mappings, &blocks->capacity, blocks->count, sizeof *blocks->mappings))
        return false;
    if (!sl_ranges_put(&blocks->by_address, slot->address, slot->address + slot->bytes, index)) return false;
    if (index == blocks->count) blocks->count++;
    blocks->mappings[index] = (struct sl_divided){
        .address = slot->address, .bytes = slot->bytes, .number = slot->number, .tag = slot->tag};
    return true;
}

/* The host memory of the mapping stays promised until blocks take it. */
static bool divide(struct sl_core *core, uint32_t s)
{
    uint64_t bytes = core->placement.slots[s].bytes;
    if (!add_mapping(&core->blocks, &core->placement.slots[s])) return false;
    sl_slot_life_end(core, s);
    core->placement.promised_bytes += bytes;
    core->scanner.extents.version++; /* extents change: no tensor continues into it */
    return true;
}

/* Divides all mappings that overlap [address, end). False: one of them cannot be divided. */
static bool divide_all(struct sl_core *core, uint64_t address, uint64_t end)
{
    for (uint64_t at = address; at < end;) {
        const struct sl_divided *mapping = mapping_at(&core->blocks, at);
        if (!mapping) {
            uint32_t s = sl_place_find(&core->placement, at);
            if (s == SL_NONE || !is_new_mapping(core, &core->placement.slots[s]) || !divide(core, s))
                return false;
            continue;
        }
        if (mapping->whole) return false;
        at = end_of(mapping);
    }
    return true;
}

bool sl_blocks_find(const struct sl_blocks *blocks, uint64_t address, struct sl_allocation *found)
{
    const struct sl_divided *mapping = mapping_at(blocks, address);
    if (!mapping) return false;
    *found = (struct sl_allocation){
        .address = mapping->address, .bytes = mapping->bytes, .number = mapping->number, .tag = mapping->tag};
    return true;
}

uint32_t *sl_blocks_tag(const struct sl_blocks *blocks, uint64_t address)
{
    struct sl_divided *mapping = mapping_at(blocks, address);
    return mapping ? &mapping->tag : NULL;
}

uint64_t sl_blocks_next(const struct sl_core *core, uint64_t address)
{
    const struct sl_divided *mapping = mapping_at(&core->blocks, address);
    for (uint64_t at = address; at < end_of(mapping); at += SL_GRANULE_BYTES) {
        uint32_t s = sl_place_find(&core->placement, at);
        if (s != SL_NONE) return core->placement.slots[s].address;
    }
    return 0;
}

void sl_blocks_end(struct sl_core *core, uint64_t address)
{
    struct sl_divided *mapping = mapping_at(&core->blocks, address);
    sl_placement_unpromise(&core->placement, mapping->bytes);
    sl_ranges_remove(&core->blocks.by_address, address);
    mapping->bytes = 0;
}

void sl_blocks_release(struct sl_blocks *blocks, uint64_t address)
{
    mapping_at(blocks, address)->whole = false;
}

/* --- blocks */

/* The chunks took `before` bytes of host memory. If they take more now, the difference is taken off the
 * promise; if they take less, it is promised again. */
static void charge(struct sl_core *core, uint64_t before)
{
    struct sl_placement *placement = &core->placement;
    uint64_t now = core->arena.virtual_bytes_used, all = placement->promised_bytes + before;
    placement->promised_bytes = all > now ? all - now : 0;
}

static bool begin_block(struct sl_core *core, uint64_t address, uint64_t bytes, uint64_t site, uint32_t tag)
{
    uint32_t slot;
    uint64_t before = core->arena.virtual_bytes_used;
    sl_slot_lives_forget(core);
    sl_slot_life_expect(core);
    if (sl_place_block(&core->placement, address, bytes, site, &slot)) return false;
    charge(core, before);
    sl_slot_life_begin(core, slot, tag);
    return true;
}

/* Covers the gaps between blocks by blocks that stay for good. */
static bool fill(struct sl_core *core, const struct sl_divided *mapping)
{
    uint64_t end = end_of(mapping);
    for (uint64_t at = mapping->address; at < end;) {
        uint32_t s = sl_place_find(&core->placement, at);
        uint64_t until = at + SL_GRANULE_BYTES;
        if (s != SL_NONE) {
            at = until;
            continue;
        }
        while (until < end && sl_place_find(&core->placement, until) == SL_NONE) until += SL_GRANULE_BYTES;
        if (!begin_block(core, at, until - at, 0, mapping->tag)) return false;
        at = until;
    }
    return true;
}

static void keep_whole_mapping(struct sl_core *core, struct sl_divided *mapping)
{
    mapping->whole = true;
    if (fill(core, mapping)) return;
    sl_log(SL_LOG_WARN,
           "there is no memory to note what graphs may write to: from now on what is dead is copied");
    core->migrator.keeps_dead = true;
}

/* Makes the divided mappings that overlap [address, end) live for good: all of them, or only those that are
 * marked as whole. If there is no memory to note that, nothing is ever discarded again. */
static void keep(struct sl_core *core, uint64_t address, uint64_t end, bool all)
{
    for (uint64_t at = address; at < end;) {
        struct sl_divided *mapping = mapping_at(&core->blocks, at);
        if (mapping && (all || mapping->whole)) keep_whole_mapping(core, mapping);
        /* A mapping that is not divided by now is never divided. */
        at = mapping ? end_of(mapping) : (at | (SL_BLOCK_BYTES - 1)) + 1;
    }
}

bool sl_block_is_kept(const struct sl_core *core, uint32_t s)
{
    const struct sl_slot *slot = &core->placement.slots[s];
    if (!slot->block) return true;
    for (uint64_t at = slot->address; at < slot->address + slot->bytes;) {
        const struct sl_divided *mapping = mapping_at(&core->blocks, at);
        if (!mapping || mapping->whole) return true;
        at = end_of(mapping);
    }
    return false;
}

void sl_block_end(struct sl_core *core, uint32_t s)
{
    uint64_t before = core->arena.virtual_bytes_used, address = core->placement.slots[s].address;
    uint64_t end = address + core->placement.slots[s].bytes;
    sl_slot_life_end(core, s);
    charge(core, before);
    keep(core, address, end, false);
}

void sl_runtime_block_taken(uint64_t address, uint64_t bytes, uint64_t site)
{
    struct sl_core *core = sl_core_of(address);
    if (!core || core->placement.noted || !bytes || address % SL_GRANULE_BYTES || !sl_arena_owns(address))
        return;
    uint64_t end = address + bytes;
    sl_lock(&core->order);
    bool believed = !atomic_load(&core->streams.captures) && divide_all(core, address, end);
    if (!believed || !begin_block(core, address, bytes, site, mapping_at(&core->blocks, address)->tag))
        keep(core, address, end, true);
    sl_host_part_changed(&core->host);
    sl_unlock(&core->order);
}

void sl_runtime_block_returned(uint64_t address)
{
    struct sl_core *core = sl_core_of(address);
    if (!core || core->placement.noted || !sl_arena_owns(address)) return;
    sl_core_free(core, address, true); /* does nothing if no block begins there */
}
