#include "core/allocate.h"

#include "base/log.h"
#include "base/test_hooks.h"
#include "core/core.h"
#include "core/late_frees.h"
#include "core/learned.h"
#include "core/room.h"

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
        behind = (!serial || waits.at[w].serial != serial) && sl_wait_is_behind(&waits.at[w], serial);
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
    sl_host_part_prepare(&core->host, bytes);
    enum sl_status status = place_apart(core, bytes, site, slot);
    if (status == SL_ERR_NO_MEMORY) status = sl_place(&core->placement, bytes, site, slot);
    if (status == SL_ERR_NO_MEMORY && sl_host_part_more(&core->host, bytes))
        status = sl_place(&core->placement, bytes, site, slot);
    core->arena.serial = 0;
    core->placement.stream = 0;
    if (status == SL_OK) sl_slot_life_begin(core, *slot, tag);
    sl_host_part_changed(&core->host);
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
    sl_host_part_changed(&core->host);
    return SL_ERR_UNSUPPORTED;
}

/* Frees that could not be put in order are tried again, and so are those that wait for other devices. */
static void look_at_frees(struct sl_core *core)
{
    struct sl_frees *frees = &core->reuse.frees;
    sl_late_frees_look();
    if (!sl_frees_any_unsure(frees) || !sl_core_may_record(core)) return;
    uint64_t until = sl_frees_now(frees);
    struct sl_points *points = sl_streams_points(&core->streams);
    if (sl_points_are_unsure(points))
        sl_points_void(frees, points);
    else
        sl_frees_mend(frees, until, points);
}

/* For all streams if `stream` is NULL. */
static enum sl_status alloc_once(struct sl_core *core, uint64_t bytes, uint64_t site, uint32_t tag,
                                 const sl_stream *stream, uint64_t *address)
{
    struct sl_reuse_waits reuse = {0};
    uint32_t slot, number = 0;
    SL_TEST_DELAY(ALLOC);
    sl_lock(&core->order);
    if (stream) number = sl_stream_number(&core->streams, *stream);
    core->recorder.stream = stream;
    enum sl_status status = place(core, bytes, site, tag, stream ? number + 1 : 0, &slot);
    core->recorder.stream = NULL;
    if (status == SL_OK && stream) {
        sl_reuse_by_stream(&core->reuse, &core->placement.slots[slot], number, &reuse);
        sl_stream_is_used(&core->streams, number);
    } else if (status == SL_OK && !sl_reuse_by_all(&core->reuse, &core->placement.slots[slot])) {
        status = refuse(core, slot);
    }
    if (status == SL_OK) *address = core->placement.slots[slot].address;
    sl_unlock(&core->order);
    SL_TEST_DELAY(ALLOCATED);
    if (status || !stream || sl_reuse_wait(&core->reuse, &reuse, *stream) == SL_OK) return status;
    sl_lock(&core->order);
    status = refuse(core, slot);
    sl_unlock(&core->order);
    return status;
}

enum sl_status sl_runtime_alloc(uint64_t bytes, uint64_t site, uint32_t tag, const sl_stream *stream,
                                uint64_t *address)
{
    struct sl_core *core = sl_core_running();
    if (!core || core->placement.noted || is_for_device(core, bytes, site)) return SL_ERR_UNSUPPORTED;
    look_at_frees(core);
    enum sl_status status = alloc_once(core, bytes, site, tag, stream, address);
    /* Other cores make room: their late frees are waited for, and what they claimed is collected. */
    if (status == SL_ERR_NO_MEMORY && sl_late_frees_hurry() | sl_host_room_collect(core))
        status = alloc_once(core, bytes, site, tag, stream, address);
    if (status == SL_ERR_NO_MEMORY && sl_device_room_make(core, bytes)) status = SL_ERR_UNSUPPORTED;
    if (status == SL_ERR_NO_MEMORY) sl_shortage_say_failed(core, bytes);
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

/* How an allocation is freed, and what became of it. */
struct ending {
    enum sl_free_what what;
    const sl_stream *stream;     /* in whose order; NULL: in none */
    struct sl_allocation *freed; /* may be NULL */
    uint64_t address, bytes;     /* out */
    struct sl_chunk_range range; /* out */
    bool divided; /* out: SL_FREE_ANY is a mapping that is divided into blocks, which end one by one */
};

/* The slot of the live allocation that begins at `address` and may end so, or SL_NONE. Precondition: the
 * order lock is held. */
static uint32_t slot_to_end(struct sl_core *core, uint64_t address, struct ending *ending)
{
    struct sl_allocation mapping;
    ending->divided = ending->what == SL_FREE_ANY && sl_blocks_find(&core->blocks, address, &mapping) &&
                      mapping.address == address;
    uint32_t s = ending->divided ? SL_NONE : slot_at(core, address);
    if (s == SL_NONE) return SL_NONE;
    const struct sl_slot *slot = &core->placement.slots[s];
    if (ending->what == SL_FREE_PLAIN && (slot->mapped || slot->block)) return SL_NONE;
    if (ending->what == SL_FREE_REPORTED && sl_block_is_kept(core, s)) return SL_NONE;
    if (ending->freed) *ending->freed = describe(slot);
    return s;
}

/* Ends the life of slot `s`, freed at `points` (NULL: no work may use it), which are registered first: rule 9
 * of docs/concurrency.md. Precondition: the order lock is held. */
static void end_slot(struct sl_core *core, uint32_t s, struct sl_points *points, struct ending *ending)
{
    const struct sl_slot *slot = &core->placement.slots[s];
    ending->address = slot->address;
    ending->bytes = slot->bytes;
    ending->range = sl_slot_chunks(&core->placement, slot, 0, slot->bytes);
    if (SL_GUARD(POINT_BEFORE_GIVEN)) sl_reuse_freed(&core->reuse, slot->address, slot->bytes, points);
    if (slot->mapped) core->scanner.extents.version++; /* extents change: no tensor continues into it */
    core->recorder.stream = ending->stream;
    if (slot->block)
        sl_block_end(core, s);
    else
        sl_slot_life_end(core, s);
    core->recorder.stream = NULL;
    sl_host_part_changed(&core->host);
}

/* What a free behind work has to do without the order lock. */
static void follow_up(struct sl_core *core, struct sl_points *points, const struct ending *ending)
{
    SL_TEST_DELAY(FREED);
    if (!SL_GUARD(POINT_BEFORE_GIVEN)) sl_reuse_freed(&core->reuse, ending->address, ending->bytes, points);
    discard_dead(core, ending->range);
    sl_core_issue_after_free(core);
}

/* Ends the allocation at points that another section recorded. */
static enum sl_status free_at_points(struct sl_core *core, uint64_t address, struct sl_points *points,
                                     struct ending *ending)
{
    SL_TEST_DELAY(POINTS);
    sl_lock(&core->order);
    uint32_t s = slot_to_end(core, address, ending);
    if (s != SL_NONE) end_slot(core, s, points, ending);
    sl_unlock(&core->order);
    if (s == SL_NONE) {
        sl_points_wait(&core->reuse.frees, points);
        return SL_ERR_INVALID;
    }
    follow_up(core, points, ending);
    return SL_OK;
}

/* SL_ERR_UNSUPPORTED: there is work, and `when` is SL_FREE_IDLE. */
static enum sl_status free_now(struct sl_core *core, uint64_t address, enum sl_free_when when,
                               struct ending *ending)
{
    sl_lock(&core->order);
    uint32_t s = slot_to_end(core, address, ending);
    bool idle = s != SL_NONE && !sl_streams_any_work(&core->streams);
    if (idle) end_slot(core, s, NULL, ending);
    sl_unlock(&core->order);
    if (s == SL_NONE) return SL_ERR_INVALID;
    if (idle) {
        discard_dead(core, ending->range);
        return SL_OK;
    }
    if (when == SL_FREE_IDLE) return SL_ERR_UNSUPPORTED;
    struct sl_points *points = SL_GUARD(POINT_OF_FREE) ? sl_streams_points(&core->streams) : NULL;
    return free_at_points(core, address, points, ending);
}

enum sl_status sl_core_free(struct sl_core *core, uint64_t address, enum sl_free_what what,
                            enum sl_free_when when, struct sl_allocation *freed)
{
    return free_now(core, address, when, &(struct ending){.what = what, .freed = freed});
}

/* Frees the blocks of the divided mapping that begins at `address`, then the mapping. */
static enum sl_status free_blocks(struct sl_core *core, uint64_t address, struct sl_allocation *freed)
{
    struct sl_allocation found;
    uint64_t block = 0;
    do {
        sl_lock(&core->order);
        bool divided = sl_blocks_find(&core->blocks, address, &found) && found.address == address;
        block = divided ? sl_blocks_release_next(core, address) : 0;
        if (divided && !block) sl_blocks_end(core, address);
        sl_host_part_changed(&core->host);
        sl_unlock(&core->order);
        if (!divided) return SL_ERR_INVALID;
        if (block) sl_core_free(core, block, SL_FREE_BLOCK, SL_FREE_NOW, NULL);
    } while (block);
    if (freed) *freed = found;
    return SL_OK;
}

enum sl_status sl_runtime_free(uint64_t address, struct sl_allocation *freed)
{
    struct sl_core *core = sl_core_of(address);
    if (!core) return SL_OK; /* after the stop the memory is freed with the process */
    struct ending ending = {.what = SL_FREE_ANY, .freed = freed};
    SL_TEST_DELAY(FREE);
    enum sl_status status = free_now(core, address, SL_FREE_NOW, &ending);
    return ending.divided ? free_blocks(core, address, freed) : status;
}

/* CU_STREAM_PER_THREAD has no handle by which another thread could record an open point, so its point is
 * recorded at once. */
static struct sl_points *points_of(struct sl_core *core, const struct sl_free_stream *where)
{
    bool own = where->handle == SL_STREAM_PER_THREAD && SL_GUARD(OWN_STREAM_IS_RECORDED);
    if (!SL_GUARD(POINT_OF_FREE)) return NULL;
    return own ? sl_points_record(&core->reuse.frees, where, 1) : sl_points_open(&core->reuse.frees, where);
}

enum sl_status sl_runtime_free_async(uint64_t address, sl_stream stream, struct sl_allocation *freed)
{
    struct sl_core *core = sl_core_of(address);
    if (!core) return SL_OK;
    struct ending ending = {.what = SL_FREE_PLAIN, .stream = &stream, .freed = freed};
    struct sl_free_stream where = {.handle = stream};
    struct sl_points *points = NULL;
    SL_TEST_DELAY(FREE);
    sl_lock(&core->order);
    uint32_t s = slot_to_end(core, address, &ending);
    if (s != SL_NONE) {
        uint32_t number = sl_stream_number(&core->streams, stream);
        where.serial = sl_stream_serial(&core->streams, number);
        sl_stream_is_used(&core->streams, number);
        /* An open point that needs no call of the driver. */
        if (stream != SL_STREAM_PER_THREAD && SL_GUARD(POINT_OF_FREE))
            points = sl_points_share(&core->reuse.frees, &where);
        if (points) end_slot(core, s, points, &ending);
    }
    sl_unlock(&core->order);
    if (s == SL_NONE) return SL_ERR_INVALID;
    if (!points) return free_at_points(core, address, points_of(core, &where), &ending);
    follow_up(core, points, &ending);
    return SL_OK;
}

/* Ends all allocations that overlap [address, address + bytes), and keeps the order lock. False: the core
 * does not note any, or there is nothing in the range. */
static bool end_noted(struct sl_core *core, uint64_t address, uint64_t bytes)
{
    uint32_t s;
    if (!core || !core->placement.noted || !bytes || address + bytes < address) return false;
    sl_lock(&core->order);
    while ((s = sl_ranges_overlap(&core->placement.ranges, address, address + bytes)) != SL_NONE)
        sl_slot_life_end(core, s);
    return true;
}

void sl_runtime_note_alloc(uint64_t address, uint64_t bytes, uint64_t site)
{
    struct sl_core *core = sl_core_running();
    uint32_t s;
    /* An older allocation there ended without a call that the shim saw. */
    if (!end_noted(core, address, bytes)) return;
    sl_slot_lives_forget(core);
    if (sl_place_noted(&core->placement, address, bytes, site, &s) == SL_OK) sl_slot_life_begin(core, s, 0);
    sl_unlock(&core->order);
}

bool sl_runtime_note_free(uint64_t address, struct sl_noted *noted)
{
    struct sl_core *core = sl_core_running();
    if (!core || !core->placement.noted) return false;
    sl_lock(&core->order);
    uint32_t s = slot_at(core, address);
    if (s != SL_NONE) {
        const struct sl_slot *slot = &core->placement.slots[s];
        if (noted) *noted = (struct sl_noted){slot->address, slot->bytes, slot->site};
        sl_slot_life_end(core, s);
    }
    sl_unlock(&core->order);
    return s != SL_NONE;
}

void sl_runtime_note_unmap(uint64_t address, uint64_t bytes)
{
    struct sl_core *core = sl_core_running();
    if (end_noted(core, address, bytes)) sl_unlock(&core->order);
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
    for (core = NULL; site && (core = sl_core_after(core));) {
        sl_lock(&core->order);
        if (sl_backing_of(&core->placement.backing, site, 0) != SL_BACKING_DEVICE) {
            sl_backing_put_device(&core->placement.backing, site);
            sl_learned_exported(core->learned, site);
        }
        sl_unlock(&core->order);
    }
    return site;
}
