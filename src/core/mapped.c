#include "core/mapped.h"

#include <sched.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/test_hooks.h"
#include "core/core.h"

static struct sl_core *if_it_gives(struct sl_core *core)
{
    return core && !core->placement.noted ? core : NULL;
}

enum sl_status sl_runtime_reserve(uint64_t bytes, uint64_t *address)
{
    struct sl_core *core = if_it_gives(sl_core_running());
    if (!core) return SL_ERR_UNSUPPORTED;
    sl_lock(&core->order);
    enum sl_status status = sl_arena_reserve(&core->arena, bytes, address);
    sl_unlock(&core->order);
    return status == SL_OK || status == SL_ERR_NO_MEMORY ? status : SL_ERR_UNSUPPORTED;
}

void sl_runtime_unreserve(uint64_t address, uint64_t bytes)
{
    struct sl_core *core = if_it_gives(sl_core_of(address));
    if (!core) return;
    sl_lock(&core->order);
    sl_arena_unreserve(&core->arena, address, bytes);
    sl_unlock(&core->order);
}

/* Drops the frames that freed memory left in the chunks. */
static void drop_frames(struct sl_migrator *migrator, sl_chunk first, size_t end)
{
    sl_lock(&migrator->out.lock);
    for (size_t c = first; (c = sl_arena_skip_unused(migrator->arena, c, end)) < end; c++)
        if (sl_chunk_is_resident(sl_arena_record(migrator->arena, (sl_chunk)c)))
            sl_migrator_evict(migrator, (sl_chunk)c, NULL, SL_CAUSE_DEMAND);
    sl_unlock(&migrator->out.lock);
}

/* Whether a movement may still come to one of the chunks. Precondition: the locks of both directions are
 * held. */
static bool any_frame(const struct sl_migrator *migrator, sl_chunk first, size_t end)
{
    if (atomic_load(&migrator->failed)) return false; /* nothing is moved any more */
    for (size_t c = first; (c = sl_arena_skip_unused(migrator->arena, c, end)) < end; c++)
        if (sl_chunk_is_resident(sl_arena_record(migrator->arena, (sl_chunk)c))) return true;
    return false;
}

/* Gives the slabs up unless a chunk has a frame. */
static bool try_give_up(struct sl_core *core, uint64_t address, uint64_t bytes, uint32_t *slab)
{
    struct sl_migrator *migrator = &core->migrator;
    sl_chunk first = sl_arena_chunk(&core->arena, address);
    size_t end = first + (bytes + SL_GIB - 1) / SL_GIB * core->arena.chunks_per_slab;
    bool given_up = false;
    drop_frames(migrator, first, end);
    sl_lock(&core->order);
    /* Rule 4 of docs/concurrency.md */
    if (sl_migrator_try_lock(migrator, SL_PATIENCE)) {
        given_up = !any_frame(migrator, first, end);
        if (given_up) sl_arena_give_up(&core->arena, address, bytes, slab);
        sl_migrator_unlock(migrator);
    }
    sl_unlock(&core->order);
    return given_up;
}

void sl_runtime_give_up(uint64_t address, uint64_t bytes)
{
    struct sl_core *core = if_it_gives(sl_core_of(address));
    uint32_t slab;
    if (!core) return;
    sl_frees_flush(&core->reuse.frees); /* an open point keeps a chunk from being discarded */
    while (!try_give_up(core, address, bytes, &slab)) sched_yield();
    struct sl_migrator *migrator = &core->migrator;
    sl_migrator_wait_host(migrator, &migrator->out, atomic_load(&migrator->out.given));
    sl_migrator_wait_host(migrator, &migrator->in, atomic_load(&migrator->in.given));
    sl_arena_delete(&core->arena, slab, bytes);
}

static enum sl_status promise(struct sl_core *core, uint64_t bytes)
{
    sl_lock(&core->order);
    sl_host_part_prepare(&core->host, bytes);
    enum sl_status status = sl_placement_promise(&core->placement, bytes);
    if (status == SL_ERR_NO_MEMORY && sl_host_part_more(&core->host, bytes))
        status = sl_placement_promise(&core->placement, bytes);
    sl_host_part_changed(&core->host);
    sl_unlock(&core->order);
    return status;
}

enum sl_status sl_runtime_promise(uint64_t bytes)
{
    struct sl_core *core = if_it_gives(sl_core_running());
    if (!core) return SL_ERR_UNSUPPORTED;
    enum sl_status status = promise(core, bytes);
    if (status == SL_ERR_NO_MEMORY && sl_host_room_collect(core)) status = promise(core, bytes);
    return status;
}

void sl_runtime_unpromise(uint64_t bytes)
{
    struct sl_core *core = if_it_gives(sl_core_running());
    if (!core) return;
    sl_lock(&core->order);
    sl_placement_unpromise(&core->placement, bytes);
    sl_host_part_changed(&core->host);
    sl_unlock(&core->order);
}

enum sl_status sl_runtime_map(uint64_t address, uint64_t bytes, uint64_t promised_bytes, uint64_t site,
                              uint32_t tag)
{
    struct sl_core *core = if_it_gives(sl_core_of(address));
    uint32_t slot;
    if (!core) return SL_ERR_UNSUPPORTED;
    SL_TEST_DELAY(ALLOC);
    sl_lock(&core->order);
    sl_slot_lives_forget(core);
    enum sl_status status = sl_place_at(&core->placement, address, bytes, site, &slot);
    if (status == SL_OK) {
        sl_placement_unpromise(&core->placement, promised_bytes);
        sl_slot_life_begin(core, slot, tag);
        core->placement.slots[slot].mapped_at = core->history.ticks.now + 1;
        core->scanner.extents.version++; /* extents change: a tensor may continue into it */
        if (!sl_reuse_by_all(&core->reuse, &core->placement.slots[slot])) {
            sl_reuse_refused(&core->reuse, &core->placement.slots[slot]);
            sl_placement_promise(&core->placement, promised_bytes);
            sl_slot_life_end(core, slot);
            status = SL_ERR_NO_MEMORY;
        }
    }
    sl_host_part_changed(&core->host);
    sl_unlock(&core->order);
    SL_TEST_DELAY(ALLOCATED);
    return status;
}

/* --- divided mappings */

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
            const struct sl_slot *slot = s == SL_NONE ? NULL : &core->placement.slots[s];
            /* If it was mapped after the last launch began, no launch can have used it. */
            bool is_new =
                slot && slot->live && slot->mapped && slot->mapped_at == core->history.ticks.now + 1;
            if (!is_new || !divide(core, s)) return false;
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

uint64_t sl_blocks_release_next(struct sl_core *core, uint64_t address)
{
    struct sl_divided *mapping = mapping_at(&core->blocks, address);
    mapping->whole = false;
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

/* Makes the divided mappings that overlap [address, end) live for good: all of them, or only those that are
 * marked as whole. If there is no memory to note that, nothing is ever discarded again. */
static void keep(struct sl_core *core, uint64_t address, uint64_t end, bool all)
{
    for (uint64_t at = address; at < end;) {
        struct sl_divided *mapping = mapping_at(&core->blocks, at);
        bool keeps = mapping && (all || mapping->whole);
        if (keeps) mapping->whole = true;
        if (keeps && !fill(core, mapping)) {
            sl_log(SL_LOG_WARN,
                   "there is no memory to note what graphs may write to: from now on what is dead is copied");
            core->migrator.keeps_dead = true;
        }
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
    sl_core_free(core, address, SL_FREE_REPORTED, SL_FREE_NOW, NULL); /* if a block begins there */
}
