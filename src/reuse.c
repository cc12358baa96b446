#include "reuse.h"

#include <stdlib.h>

#include "core.h"
#include "guards.h"

static uint64_t end_of(const struct sl_slot *slot)
{
    return slot->address + ((slot->bytes + SL_ALLOCATION_ALIGN - 1) & ~(uint64_t)(SL_ALLOCATION_ALIGN - 1));
}

/* The newest discard of a chunk that the slot lies in. */
static uint64_t drop_of(const struct sl_core *core, const struct sl_slot *slot)
{
    struct sl_chunk_range range = sl_slot_chunks(&core->placement, slot, 0, slot->bytes);
    uint64_t newest = 0;
    for (uint32_t i = 0; i < range.count; i++) {
        const struct sl_chunk_record *chunk = sl_arena_record(&core->arena, range.first + i);
        uint64_t sequence = atomic_load(&chunk->drop_sequence);
        if (sequence > newest) newest = sequence;
    }
    return sl_direction_known_done(&core->mover.out, newest) ? 0 : newest;
}

void sl_reuse_by_stream(struct sl_core *core, const struct sl_slot *slot, uint32_t s,
                        struct sl_reuse_waits *reuse)
{
    *reuse = (struct sl_reuse_waits){.drop_sequence = drop_of(core, slot)};
    sl_frees_take(&core->reuse.frees, slot->address, end_of(slot), sl_stream_serial(&core->streams, s),
                  &reuse->waits);
}

void sl_reuse_wait(struct sl_core *core, struct sl_reuse_waits *reuse, sl_stream stream)
{
    if (SL_GUARD(STREAM_WAITS)) sl_waits_enqueue(&reuse->waits, &core->backend, stream);
    sl_waits_end(&reuse->waits, &core->reuse.frees);
    if (reuse->drop_sequence && SL_GUARD(STREAM_WAITS_DROP))
        sl_mover_wait(&core->mover, &core->mover.out, reuse->drop_sequence, stream);
}

/* Takes the place of an earlier one on its stream. Where there are too many it is waited for on the host. */
static void add_join(struct sl_core *core, struct sl_wait *wait)
{
    uint32_t i = 0;
    while (i < core->reuse.join_count && !sl_wait_covers(wait, &core->reuse.joins[i].wait)) i++;
    if (i == SL_MOST_JOINS) {
        core->backend.event_wait(core->backend.self, wait->event);
        sl_wait_end(wait, &core->reuse.frees);
        return;
    }
    if (i < core->reuse.join_count)
        sl_wait_end(&core->reuse.joins[i].wait, &core->reuse.frees);
    else
        core->reuse.join_count++;
    core->reuse.joins[i] = (struct sl_join){.wait = *wait};
}

void sl_reuse_by_all(struct sl_core *core, const struct sl_slot *slot)
{
    uint64_t drop = drop_of(core, slot);
    struct sl_waits waits = {0};
    if (drop > core->reuse.join_out && SL_GUARD(ALL_WAIT_DROP)) core->reuse.join_out = drop;
    sl_frees_take(&core->reuse.frees, slot->address, end_of(slot), 0, &waits);
    for (uint32_t i = 0; i < waits.count; i++) add_join(core, &waits.at[i]);
    free(waits.at);
}

static uint64_t bit_of(uint32_t s)
{
    return s == SL_SHARED_STREAM ? 0 : (uint64_t)1 << s;
}

/* The stream waits for all of it. Joins may have been replaced meanwhile. pre: the order lock is taken. */
static void note_joined(struct sl_core *core, uint32_t s, const struct sl_joining *joining)
{
    if (s == SL_SHARED_STREAM) return;
    for (uint32_t w = 0; w < joining->waits.count; w++)
        for (uint32_t i = 0; i < core->reuse.join_count; i++)
            if (core->reuse.joins[i].wait.event == joining->waits.at[w].event)
                core->reuse.joins[i].joined |= bit_of(s);
    if (joining->out_sequence > core->streams.known[s].joined_out)
        core->streams.known[s].joined_out = joining->out_sequence;
}

void sl_joins_collect(struct sl_core *core, uint32_t s, struct sl_joining *joining)
{
    uint64_t serial = sl_stream_serial(&core->streams, s);
    for (uint32_t i = 0; i < core->reuse.join_count && SL_GUARD(ALL_WAIT); i++) {
        const struct sl_join *join = &core->reuse.joins[i];
        if (!(join->joined & bit_of(s)) && (!serial || join->wait.serial != serial))
            sl_waits_add(&joining->waits, &join->wait, &core->reuse.frees);
    }
    uint64_t joined = s == SL_SHARED_STREAM ? core->mover.out.done : core->streams.known[s].joined_out;
    if (core->reuse.join_out > joined) joining->out_sequence = core->reuse.join_out;
    if (!SL_GUARD(JOINED_AFTER_WAIT)) note_joined(core, s, joining);
}

void sl_joins_wait(struct sl_core *core, uint32_t s, struct sl_joining *joining, sl_stream stream)
{
    sl_waits_enqueue(&joining->waits, &core->backend, stream);
    if (joining->out_sequence) sl_mover_wait(&core->mover, &core->mover.out, joining->out_sequence, stream);
    sl_lock(&core->order);
    note_joined(core, s, joining);
    sl_unlock(&core->order);
    sl_waits_end(&joining->waits, &core->reuse.frees);
}

void sl_joins_end(struct sl_core *core)
{
    while (core->reuse.join_count)
        sl_wait_end(&core->reuse.joins[--core->reuse.join_count].wait, &core->reuse.frees);
}

void sl_reuse_freed(struct sl_core *core, const struct sl_slot *slot, struct sl_points *points)
{
    sl_frees_add(&core->reuse.frees, slot->address, end_of(slot), points);
}
