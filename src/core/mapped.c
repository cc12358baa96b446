#include "core/mapped.h"

#include <sched.h>

#include "base/test_hooks.h"
#include "core/core.h"
#include "core/feed.h"
#include "move/reuse.h"

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
