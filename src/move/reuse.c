#include "move/reuse.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/test_hooks.h"

static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    return address + ((bytes + SL_ALLOCATION_ALIGN - 1) & ~(uint64_t)(SL_ALLOCATION_ALIGN - 1));
}

/* The newest discard of a chunk that holds a part of the slot; 0: it is done, or there is none. */
static uint64_t discard_of(const struct sl_reuse *reuse, const struct sl_slot *slot)
{
    struct sl_chunk_range range = sl_slot_chunks(reuse->placement, slot, 0, slot->bytes);
    uint64_t newest = 0;
    for (uint32_t i = 0; i < range.count; i++) {
        const struct sl_chunk_record *chunk = sl_arena_record(reuse->migrator->arena, range.first + i);
        uint64_t sequence = atomic_load(&chunk->discard_sequence);
        if (sequence > newest) newest = sequence;
    }
    return sl_link_direction_known_done(&reuse->migrator->out, newest) ? 0 : newest;
}

void sl_reuse_by_stream(struct sl_reuse *reuse, const struct sl_slot *slot, uint32_t s,
                        struct sl_reuse_waits *waits)
{
    *waits = (struct sl_reuse_waits){.discard_sequence = discard_of(reuse, slot)};
    sl_frees_take(&reuse->frees, slot->address, end_of(slot->address, slot->bytes),
                  sl_stream_serial(reuse->streams, s), &waits->waits);
}

enum sl_status sl_reuse_wait(struct sl_reuse *reuse, struct sl_reuse_waits *waits, sl_stream stream)
{
    enum sl_status status = SL_OK;
    if (SL_GUARD(STREAM_WAITS)) status = sl_waits_enqueue(&waits->waits, reuse->migrator->backend, stream);
    sl_waits_end(&waits->waits, &reuse->frees);
    if (status == SL_OK && waits->discard_sequence && SL_GUARD(STREAM_WAITS_DISCARD))
        status = sl_migrator_wait(reuse->migrator, &reuse->migrator->out, waits->discard_sequence, stream);
    return status;
}

void sl_reuse_refused(struct sl_reuse *reuse, const struct sl_slot *slot)
{
    if (!atomic_load(&reuse->migrator->failed)) /* else the driver may have ended */
        sl_warn_once("the driver puts nothing in order: freed memory is kept until the program waits for the "
                     "device");
    sl_frees_add(&reuse->frees, slot->address, end_of(slot->address, slot->bytes),
                 sl_points_unknown(&reuse->frees));
}

/* Adds a wait, or replaces an earlier one on its stream. If there are too many, the host waits for it. False:
 * it cannot. */
static bool add_join(struct sl_reuse *reuse, struct sl_wait *wait)
{
    uint32_t i = 0;
    while (i < reuse->join_count && !sl_wait_covers(wait, &reuse->joins[i].wait)) i++;
    if (i == SL_MOST_JOINS) {
        bool waited = sl_wait_on_host(wait) == SL_OK;
        sl_wait_end(wait, &reuse->frees);
        return waited;
    }
    if (i < reuse->join_count)
        sl_wait_end(&reuse->joins[i].wait, &reuse->frees);
    else
        reuse->join_count++;
    reuse->joins[i] = (struct sl_join){.wait = *wait};
    return true;
}

bool sl_reuse_by_all(struct sl_reuse *reuse, const struct sl_slot *slot)
{
    uint64_t drop = discard_of(reuse, slot);
    struct sl_waits waits = {0};
    if (drop > reuse->join_out && SL_GUARD(ALL_WAIT_DISCARD)) reuse->join_out = drop;
    sl_frees_take(&reuse->frees, slot->address, end_of(slot->address, slot->bytes), 0, &waits);
    bool sure = !waits.unsure;
    for (uint32_t i = 0; i < waits.count; i++) sure &= add_join(reuse, &waits.at[i]);
    free(waits.at);
    return sure;
}

static uint64_t bit_of(uint32_t s)
{
    return s == SL_SHARED_STREAM ? 0 : (uint64_t)1 << s;
}

/* Notes that the stream waits for all of it. Joins may have been replaced meanwhile. Precondition: the order
 * lock is held. */
static void note_joined(struct sl_reuse *reuse, uint32_t s, const struct sl_joining *joining)
{
    if (s == SL_SHARED_STREAM) return;
    for (uint32_t w = 0; w < joining->waits.count; w++)
        for (uint32_t i = 0; i < reuse->join_count; i++)
            if (reuse->joins[i].wait.event == joining->waits.at[w].event) reuse->joins[i].joined |= bit_of(s);
    if (joining->out_sequence > reuse->streams->known[s].joined_out)
        reuse->streams->known[s].joined_out = joining->out_sequence;
}

void sl_joins_collect(struct sl_reuse *reuse, uint32_t s, struct sl_joining *joining)
{
    uint64_t serial = sl_stream_serial(reuse->streams, s);
    for (uint32_t i = 0; i < reuse->join_count && SL_GUARD(ALL_WAIT); i++) {
        const struct sl_join *join = &reuse->joins[i];
        if (!(join->joined & bit_of(s)) && (!serial || join->wait.serial != serial))
            sl_waits_add(&joining->waits, &join->wait, &reuse->frees);
    }
    uint64_t joined = s == SL_SHARED_STREAM ? reuse->migrator->out.done : reuse->streams->known[s].joined_out;
    if (reuse->join_out > joined) joining->out_sequence = reuse->join_out;
    if (!SL_GUARD(JOINED_AFTER_WAIT)) note_joined(reuse, s, joining);
}

enum sl_status sl_joins_wait(struct sl_reuse *reuse, uint32_t s, struct sl_joining *joining, sl_stream stream,
                             bool beside)
{
    struct sl_migrator *migrator = reuse->migrator;
    enum sl_status status = beside ? sl_waits_beside(&joining->waits, migrator->backend, stream)
                                   : sl_waits_enqueue(&joining->waits, migrator->backend, stream);
    enum sl_status out = SL_OK;
    if (joining->out_sequence && beside)
        out = sl_migrator_wait_host(migrator, &migrator->out, joining->out_sequence);
    if (joining->out_sequence && (!beside || out))
        out = sl_migrator_wait(migrator, &migrator->out, joining->out_sequence, stream);
    if (out) status = out;
    /* Rule 11 of docs/concurrency.md */
    if (status == SL_OK) {
        sl_lock(reuse->order);
        note_joined(reuse, s, joining);
        sl_unlock(reuse->order);
    }
    sl_waits_end(&joining->waits, &reuse->frees);
    return status;
}

void sl_joins_end(struct sl_reuse *reuse)
{
    while (reuse->join_count) sl_wait_end(&reuse->joins[--reuse->join_count].wait, &reuse->frees);
}

void sl_reuse_freed(struct sl_reuse *reuse, uint64_t address, uint64_t bytes, struct sl_points *points)
{
    sl_frees_add(&reuse->frees, address, end_of(address, bytes), points);
}
