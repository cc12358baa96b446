#include "core/allocate.h"

#include "base/log.h"
#include "base/test_hooks.h"
#include "core/blocks.h"
#include "core/core.h"
#include "core/device_room.h"
#include "core/host_lending.h"
#include "core/late_frees.h"
#include "core/learned.h"
#include "core/slot_life.h"
#include "move/reuse.h"

#define APART_TRIES 32

/* Whether the slot's next user would have to wait for a free behind a collective that is not over, or cannot
 * wait. `serial`: of the user's stream; 0: the user may be on any stream. */
static bool is_unsuitable(struct sl_core *core, const struct sl_slot *slot, uint64_t serial)
{
    struct sl_waits waits = {0};
    bool peers = sl_behind_any(&core->migrator.behind) && SL_GUARD(NOTHING_BEHIND_PEERS);
    if (!peers && !sl_frees_any_unsure(&core->reuse.frees)) return false;
    sl_frees_peek(&core->reuse.frees, slot->address, slot->address + slot->bytes, &waits);
    bool behind = waits.unsure;
    for (uint32_t w = 0; w < waits.count && !behind && peers; w++)
        behind = (!serial || waits.at[w].serial != serial) &&
                 sl_behind_is(&core->migrator.behind, waits.at[w].serial);
    sl_waits_end(&waits, &core->reuse.frees);
    return behind;
}

/* Places an allocation where its stream can wait, and need not wait for a collective, since the collective's
 * peers may wait for work that this stream gets later. Unsuitable places are held until a suitable one is
 * found; if there is none, an unsuitable one is used. */
static enum sl_status place_apart(struct sl_core *core, uint64_t bytes, uint64_t site, uint32_t *slot)
{
    struct sl_placement *placement = &core->placement;
    uint64_t held[APART_TRIES];
    uint32_t count = 0, s;
    enum sl_status status = sl_place(placement, bytes, site, slot);
    while (status == SL_OK && count < APART_TRIES &&
           is_unsuitable(core, &placement->slots[*slot], core->arena.serial)) {
        held[count++] = placement->slots[*slot].address;
        status = sl_place(placement, bytes, site, slot);
    }
    while (count) sl_unplace(placement, held[--count], &s);
    return status;
}

/* Places an allocation for stream number `stream` - 1, or for any stream if `stream` is 0. Precondition:
 * the order lock is held. */
static enum sl_status place(struct sl_core *core, uint64_t bytes, uint64_t site, uint32_t tag,
                            uint32_t stream, uint32_t *slot)
{
    sl_slot_lives_forget(core);
    core->arena.serial = stream ? sl_stream_serial(&core->streams, stream - 1) : 0;
    core->placement.stream = stream;
    sl_slot_life_expect(core);
    sl_host_share_prepare(&core->host, bytes);
    enum sl_status status = place_apart(core, bytes, site, slot);
    if (status == SL_ERR_NO_MEMORY) status = sl_place(&core->placement, bytes, site, slot);
    if (status == SL_ERR_NO_MEMORY && sl_host_share_more(&core->host, bytes))
        status = sl_place(&core->placement, bytes, site, slot);
    core->arena.serial = 0;
    core->placement.stream = 0;
    if (status == SL_OK) sl_slot_life_begin(core, *slot, tag);
    sl_host_share_changed(&core->host);
    return status;
}

/* Whether a rule asks for device memory for this allocation and the device has room. If so, chunks were
 * evicted for it. */
static bool is_for_device(struct sl_core *core, uint64_t bytes, uint64_t site)
{
    if (!core->placement.backing.count) return false;
    sl_lock(&core->order);
    bool wanted = sl_backing_of(&core->placement.backing, site, bytes) == SL_BACKING_DEVICE;
    sl_unlock(&core->order);
    if (!wanted) return false;
    bool room = sl_device_room_make(core, bytes);
    if (!room)
        sl_warn_once("a rule wants device memory, and there is no room for it beside half of the budget: it "
                     "is unified memory");
    return room;
}

/* Takes back the slot, whose memory cannot be waited for: the driver has other memory. Precondition: the
 * order lock is held. */
static enum sl_status refuse(struct sl_core *core, uint32_t slot)
{
    sl_reuse_refused(&core->reuse, &core->placement.slots[slot]);
    sl_slot_life_end(core, slot);
    sl_host_share_changed(&core->host);
    return SL_ERR_UNSUPPORTED;
}

/* Frees that could not be put in order are tried again, and so are those that wait for other devices. */
static void look_at_frees(struct sl_core *core)
{
    struct sl_frees *frees = &core->reuse.frees;
    if (sl_late_frees_any()) sl_late_frees_look();
    if (!sl_frees_any_unsure(frees) || !sl_core_may_record(core)) return;
    uint64_t until = sl_frees_now(frees);
    struct sl_points *points = sl_streams_points(&core->streams);
    if (sl_points_are_unsure(points))
        sl_points_void(frees, points);
    else
        sl_frees_mend(frees, until, points);
}

static enum sl_status alloc_for_all(struct sl_core *core, uint64_t bytes, uint64_t site, uint32_t tag,
                                    uint64_t *address)
{
    uint32_t slot;
    SL_TEST_DELAY(ALLOC);
    sl_lock(&core->order);
    enum sl_status status = place(core, bytes, site, tag, 0, &slot);
    if (status == SL_OK && sl_reuse_by_all(&core->reuse, &core->placement.slots[slot]))
        *address = core->placement.slots[slot].address;
    else if (status == SL_OK)
        status = refuse(core, slot);
    sl_unlock(&core->order);
    SL_TEST_DELAY(ALLOCATED);
    return status;
}

/* Makes room at other cores' expense: waits for their late frees and collects lent host memory. True: try
 * again. */
static bool finds_more(struct sl_core *core, uint64_t bytes)
{
    return sl_late_frees_hurry() | sl_host_lending_more(core, bytes);
}

enum sl_status sl_runtime_alloc(uint64_t bytes, uint64_t site, uint32_t tag, uint64_t *address)
{
    struct sl_core *core = sl_core_running();
    if (!core || core->placement.noted || is_for_device(core, bytes, site)) return SL_ERR_UNSUPPORTED;
    look_at_frees(core);
    enum sl_status status = alloc_for_all(core, bytes, site, tag, address);
    if (status == SL_ERR_NO_MEMORY && finds_more(core, bytes))
        status = alloc_for_all(core, bytes, site, tag, address);
    if (status == SL_ERR_NO_MEMORY && sl_device_room_make(core, bytes)) status = SL_ERR_UNSUPPORTED;
    return status;
}

static enum sl_status alloc_for_stream(struct sl_core *core, uint64_t bytes, uint64_t site, uint32_t tag,
                                       sl_stream stream, uint64_t *address)
{
    struct sl_reuse_waits reuse = {0};
    uint32_t slot;
    SL_TEST_DELAY(ALLOC);
    sl_lock(&core->order);
    uint32_t s = sl_stream_number(&core->streams, stream);
    enum sl_status status = place(core, bytes, site, tag, s + 1, &slot);
    if (status == SL_OK) {
        sl_reuse_by_stream(&core->reuse, &core->placement.slots[slot], s, &reuse);
        sl_stream_is_used(&core->streams, s);
        *address = core->placement.slots[slot].address;
    }
    sl_unlock(&core->order);
    SL_TEST_DELAY(ALLOCATED);
    if (status || sl_reuse_wait(&core->reuse, &reuse, stream) == SL_OK) return status;
    sl_lock(&core->order);
    status = refuse(core, slot);
    sl_unlock(&core->order);
    return status;
}

enum sl_status sl_runtime_alloc_async(uint64_t bytes, uint64_t site, uint32_t tag, sl_stream stream,
                                      uint64_t *address)
{
    struct sl_core *core = sl_core_running();
    if (!core || core->placement.noted || is_for_device(core, bytes, site)) return SL_ERR_UNSUPPORTED;
    look_at_frees(core);
    enum sl_status status = alloc_for_stream(core, bytes, site, tag, stream, address);
    if (status == SL_ERR_NO_MEMORY && finds_more(core, bytes))
        status = alloc_for_stream(core, bytes, site, tag, stream, address);
    if (status == SL_ERR_NO_MEMORY && sl_device_room_make(core, bytes)) status = SL_ERR_UNSUPPORTED;
    return status;
}

/* A chunk without allocations whose dead content is in host memory: after a discard, its next use need not
 * copy anything in. */
static bool is_to_discard(const struct sl_chunk_record *chunk)
{
    return !atomic_load(&chunk->bytes) && atomic_load(&chunk->content) == SL_CONTENT_DEAD &&
           atomic_load(&chunk->out_sequence);
}

/* Precondition: the order lock is not held. */
static void discard_dead(struct sl_core *core, struct sl_chunk_range range)
{
    bool any = false;
    for (uint32_t i = 0; i < range.count && !any; i++)
        any = is_to_discard(sl_arena_record(&core->arena, range.first + i));
    if (!any) return;
    sl_frees_flush(&core->reuse.frees);
    sl_lock(&core->migrator.out.lock);
    for (uint32_t i = 0; i < range.count; i++)
        if (is_to_discard(sl_arena_record(&core->arena, range.first + i)))
            sl_migrator_discard(&core->migrator, range.first + i);
    sl_unlock(&core->migrator.out.lock);
}

static struct sl_allocation describe(const struct sl_slot *slot)
{
    return (struct sl_allocation){
        .address = slot->address, .bytes = slot->bytes, .number = slot->number, .tag = slot->tag};
}

/* The slot of the live allocation that starts at `address`, or SL_NONE. Precondition: the order lock is
 * held. */
static uint32_t slot_at(const struct sl_core *core, uint64_t address)
{
    uint32_t s = sl_place_find(&core->placement, address);
    return s != SL_NONE && core->placement.slots[s].address == address ? s : SL_NONE;
}

/* Ends the life of slot `s` and returns its chunks. Precondition: the order lock is held, and the points
 * of the free are registered. */
static struct sl_chunk_range end_slot(struct sl_core *core, uint32_t s, bool reported,
                                      struct sl_allocation *freed)
{
    const struct sl_slot *slot = &core->placement.slots[s];
    if (reported && sl_block_is_kept(core, s)) return (struct sl_chunk_range){0};
    struct sl_chunk_range range = sl_slot_chunks(&core->placement, slot, 0, slot->bytes);
    if (freed) *freed = describe(slot);
    if (slot->mapped) core->scanner.extents.version++; /* extents change: no tensor continues into it */
    if (slot->block)
        sl_block_end(core, s);
    else
        sl_slot_life_end(core, s);
    sl_host_share_changed(&core->host);
    return range;
}

/* Ends the allocation, freed at `points`. The points are registered before the memory can be given out
 * again or discarded. */
static enum sl_status end_allocation(struct sl_core *core, uint64_t address, bool reported,
                                     struct sl_points *points, struct sl_allocation *freed)
{
    struct sl_chunk_range range = {0};
    struct sl_slot slot = {0};
    SL_TEST_DELAY(POINTS);
    sl_lock(&core->order);
    uint32_t s = slot_at(core, address);
    if (s != SL_NONE) {
        slot = core->placement.slots[s];
        if (SL_GUARD(POINT_BEFORE_GIVEN)) sl_reuse_freed(&core->reuse, &slot, points);
        range = end_slot(core, s, reported, freed);
    }
    sl_unlock(&core->order);
    if (s == SL_NONE) {
        sl_points_wait(&core->reuse.frees, points);
        return SL_ERR_INVALID;
    }
    SL_TEST_DELAY(FREED);
    if (!SL_GUARD(POINT_BEFORE_GIVEN)) sl_reuse_freed(&core->reuse, &slot, points);
    discard_dead(core, range);
    sl_core_issue_after_free(core);
    return SL_OK;
}

enum sl_status sl_core_free(struct sl_core *core, uint64_t address, bool reported,
                            struct sl_allocation *freed)
{
    struct sl_chunk_range range = {0};
    sl_lock(&core->order);
    uint32_t s = slot_at(core, address);
    bool live = s != SL_NONE, idle = !sl_streams_any_work(&core->streams);
    if (live && idle) range = end_slot(core, s, reported, freed); /* no work to wait for */
    sl_unlock(&core->order);
    if (!live) return SL_ERR_INVALID;
    if (!idle) {
        struct sl_points *points = SL_GUARD(POINT_OF_FREE) ? sl_streams_points(&core->streams) : NULL;
        return end_allocation(core, address, reported, points, freed);
    }
    discard_dead(core, range);
    return SL_OK;
}

/* Frees the blocks of a divided mapping, then the mapping. False: no divided mapping begins at `address`. */
static bool free_blocks(struct sl_core *core, uint64_t address, struct sl_allocation *freed)
{
    struct sl_allocation found;
    uint64_t block = 0;
    do {
        sl_lock(&core->order);
        bool divided = sl_blocks_find(&core->blocks, address, &found) && found.address == address;
        if (divided) sl_blocks_release(&core->blocks, address);
        block = divided ? sl_blocks_next(core, address) : 0;
        if (divided && !block) sl_blocks_end(core, address);
        sl_host_share_changed(&core->host);
        sl_unlock(&core->order);
        if (!divided) return false;
        if (block) sl_core_free(core, block, false, NULL);
    } while (block);
    if (freed) *freed = found;
    return true;
}

enum sl_status sl_runtime_free(uint64_t address, struct sl_allocation *freed)
{
    struct sl_core *core = sl_core_of(address);
    if (!core) return SL_OK; /* after the stop the memory is freed with the process */
    SL_TEST_DELAY(FREE);
    return free_blocks(core, address, freed) ? SL_OK : sl_core_free(core, address, false, freed);
}

/* CU_STREAM_PER_THREAD has no handle by which another thread could record an open point, so its point is
 * recorded at once. */
static struct sl_points *points_of(struct sl_core *core, const struct sl_free_stream *where)
{
    bool own = where->handle == SL_STREAM_PER_THREAD && SL_GUARD(OWN_STREAM_IS_RECORDED);
    return own ? sl_points_record(&core->reuse.frees, where, 1) : sl_points_open(&core->reuse.frees, where);
}

enum sl_status sl_runtime_free_async(uint64_t address, sl_stream stream, struct sl_allocation *freed)
{
    struct sl_core *core = sl_core_of(address);
    if (!core) return SL_OK;
    struct sl_free_stream where = {.handle = stream};
    SL_TEST_DELAY(FREE);
    sl_lock(&core->order);
    bool live = slot_at(core, address) != SL_NONE;
    uint32_t s = live ? sl_stream_number(&core->streams, stream) : SL_SHARED_STREAM;
    where.serial = sl_stream_serial(&core->streams, s);
    if (live) sl_stream_is_used(&core->streams, s);
    sl_unlock(&core->order);
    if (!live) return SL_ERR_INVALID;
    struct sl_points *points = SL_GUARD(POINT_OF_FREE) ? points_of(core, &where) : NULL;
    return end_allocation(core, address, false, points, freed);
}

void sl_runtime_note_alloc(uint64_t address, uint64_t bytes, uint64_t site)
{
    struct sl_core *core = sl_core_running();
    uint32_t s;
    if (!core || !core->placement.noted || !bytes || address + bytes < address) return;
    sl_lock(&core->order);
    sl_slot_lives_forget(core);
    /* An older allocation there ended without a call that the shim saw. */
    while ((s = sl_ranges_overlap(&core->placement.ranges, address, address + bytes)) != SL_NONE)
        sl_slot_life_end(core, s);
    if (sl_place_noted(&core->placement, address, bytes, site, &s) == SL_OK) sl_slot_life_begin(core, s, 0);
    sl_unlock(&core->order);
}

bool sl_runtime_note_free(uint64_t address, struct sl_noted *noted)
{
    struct sl_core *core = sl_core_running();
    if (!core || !core->placement.noted) return false;
    sl_lock(&core->order);
    uint32_t s = sl_place_find(&core->placement, address);
    bool known = s != SL_NONE && core->placement.slots[s].address == address;
    if (known) {
        const struct sl_slot *slot = &core->placement.slots[s];
        if (noted) *noted = (struct sl_noted){slot->address, slot->bytes, slot->site};
        sl_slot_life_end(core, s);
    }
    sl_unlock(&core->order);
    return known;
}

void sl_runtime_note_unmap(uint64_t address, uint64_t bytes)
{
    struct sl_core *core = sl_core_running();
    uint32_t s;
    if (!core || !core->placement.noted || !bytes || address + bytes < address) return;
    sl_lock(&core->order);
    while ((s = sl_ranges_overlap(&core->placement.ranges, address, address + bytes)) != SL_NONE)
        sl_slot_life_end(core, s);
    sl_unlock(&core->order);
}

bool sl_runtime_owns(uint64_t address)
{
    if (!sl_arena_owns(address)) return false;
    struct sl_core *core = sl_core_of(address);
    if (!core || !core->placement.noted) return true;
    sl_lock(&core->order);
    bool live = sl_place_find(&core->placement, address) != SL_NONE;
    sl_unlock(&core->order);
    return live;
}

bool sl_runtime_owns_part(uint64_t address, uint64_t last)
{
    uint64_t end = last >> SL_SLAB_SHIFT;
    if (end >= SL_SLAB_TABLE) end = SL_SLAB_TABLE - 1;
    for (uint64_t slab = address >> SL_SLAB_SHIFT; slab <= end; slab++)
        if (sl_arena_owns(slab << SL_SLAB_SHIFT)) return true;
    return false;
}

bool sl_runtime_tag(uint64_t address, uint32_t clear, uint32_t set)
{
    struct sl_core *core = sl_core_of(address);
    if (!core) return false;
    sl_lock(&core->order);
    uint32_t s = sl_place_find(&core->placement, address);
    uint32_t *tag = sl_blocks_tag(&core->blocks, address);
    if (!tag && s != SL_NONE) tag = &core->placement.slots[s].tag;
    if (tag) *tag = (*tag & ~clear) | set;
    sl_unlock(&core->order);
    return tag != NULL;
}

bool sl_runtime_find(uint64_t address, struct sl_allocation *found)
{
    struct sl_core *core = sl_core_of(address);
    if (!core) core = sl_core_at_rest(address);
    if (!core) return false;
    sl_lock(&core->order);
    bool divided = sl_blocks_find(&core->blocks, address, found);
    uint32_t s = divided ? SL_NONE : sl_place_find(&core->placement, address);
    if (s != SL_NONE && core->placement.slots[s].leaving) s = SL_NONE;
    if (s != SL_NONE) *found = describe(&core->placement.slots[s]);
    sl_unlock(&core->order);
    return divided || s != SL_NONE;
}

/* Allocations of the site are device memory from here on, in this run and, with a profile, in the next. */
static void put_on_device(struct sl_core *core, uint64_t site)
{
    sl_lock(&core->order);
    if (sl_backing_of(&core->placement.backing, site, 0) != SL_BACKING_DEVICE) {
        sl_backing_put_device(&core->placement.backing, site);
        sl_learned_exported(core->learned, site);
    }
    sl_unlock(&core->order);
}

/* The site is a place in the program, which may allocate there on every device. */
uint64_t sl_runtime_must_be_device(uint64_t address)
{
    struct sl_core *core = sl_core_of(address);
    uint64_t site = 0;
    if (!core) return 0;
    sl_lock(&core->order);
    uint32_t s = sl_place_find(&core->placement, address);
    if (s != SL_NONE) site = core->placement.slots[s].site;
    sl_unlock(&core->order);
    for (uint32_t c = 0; site && c < sl_cores_started(); c++) {
        core = sl_core_numbered(c);
        if (core) put_on_device(core, site);
    }
    return site;
}
