#include "core/monitor_memory.h"

#include <string.h>

#include "core/core.h"

void sl_monitor_memory_step(struct sl_monitor_memory *memory, uint64_t allocations, sl_tick tick)
{
    memory->allocations_before = memory->allocations_at_step;
    memory->allocations_at_step = allocations;
    memory->tick_before = memory->tick_at_step;
    memory->tick_at_step = tick;
    if (memory->steps < 2) memory->steps++;
}

static enum sl_kind kind_of(const struct sl_monitor_memory *memory, const struct sl_slot *slot,
                            const struct sl_chunk_record *chunk)
{
    if (chunk->pinned) return SL_KIND_PINNED;
    if (memory->steps < 2) return SL_KIND_UNKNOWN; /* no whole step has ended */
    if (slot->number > memory->allocations_before) return SL_KIND_TEMPORARY;
    sl_tick used = atomic_load_explicit(&chunk->last_use, memory_order_relaxed);
    return used > memory->tick_before ? SL_KIND_LASTING : SL_KIND_IDLE;
}

/* Adds `bytes` bytes that begin `at` bytes into the chunk. What exceeds a frame is not on the device. */
static void add(struct sl_monitor_kind *kind, const struct sl_migrator *migrator,
                const struct sl_chunk_record *chunk, uint64_t at, uint64_t bytes)
{
    int content = atomic_load(&chunk->content);
    uint64_t frame_bytes = atomic_load_explicit(&chunk->frame_bytes, memory_order_relaxed), framed = 0;
    if (sl_content_is_resident(content) && !chunk->pinned && frame_bytes > at)
        framed = frame_bytes - at < bytes ? frame_bytes - at : bytes;
    uint64_t fetch = atomic_load_explicit(&chunk->in_sequence, memory_order_relaxed);
    kind->allocated_bytes += bytes;
    kind->resident_bytes += framed;
    if (framed && !sl_link_direction_known_done(&migrator->in, fetch)) kind->arriving_bytes += framed;
    if (content == SL_CONTENT_DEAD && !chunk->pinned)
        kind->empty_bytes += bytes;
    else
        kind->host_bytes += bytes - framed;
}

/* Visits the slot's parts from memory->offset on, as long as *work is left. */
static void visit(struct sl_monitor_memory *memory, const struct sl_core *core, const struct sl_slot *slot,
                  uint32_t *work)
{
    const struct sl_arena *arena = &core->arena;
    for (; *work >= SL_MONITOR_PART && memory->offset < slot->bytes; *work -= SL_MONITOR_PART) {
        uint64_t address = slot->address + memory->offset, at = address & (arena->chunk_bytes - 1);
        uint64_t bytes = slot->bytes - memory->offset;
        if (bytes > arena->chunk_bytes - at) bytes = arena->chunk_bytes - at;
        sl_chunk c = sl_arena_chunk(arena, address);
        if (c != SL_NONE) {
            const struct sl_chunk_record *chunk = sl_arena_record(arena, c);
            add(&memory->kinds[kind_of(memory, slot, chunk)], &core->migrator, chunk, at, bytes);
        }
        memory->offset += bytes;
    }
}

/* Whether all slots were visited. A slot that got another allocation since a part of it was visited is left
 * out, like every allocation that is made behind the visit. */
static bool go_on(struct sl_monitor_memory *memory, const struct sl_core *core)
{
    const struct sl_placement *placement = &core->placement;
    uint32_t work = SL_MONITOR_WORK;
    for (; memory->slot < placement->slot_count; memory->slot++, memory->offset = 0) {
        const struct sl_slot *slot = &placement->slots[memory->slot];
        if (work < SL_MONITOR_PART) return false;
        work--;
        if (!memory->offset) memory->number = slot->number;
        if (!slot->live || slot->number != memory->number) continue;
        visit(memory, core, slot, &work);
        if (memory->offset < slot->bytes) return false;
    }
    return true;
}

void sl_monitor_memory_scan(struct sl_monitor_memory *memory, const struct sl_core *core, uint64_t asked,
                            uint64_t now, struct sl_monitor_figures *figures)
{
    if (!memory->goes_on) {
        if (asked == memory->answered || core->placement.noted) return;
        memory->answered = asked;
        memory->goes_on = true;
        memory->slot = 0;
        memory->offset = 0;
        memory->begun = now;
        memset(memory->kinds, 0, sizeof(memory->kinds));
    }
    if (!go_on(memory, core)) return;
    memory->goes_on = false;
    uint64_t resident = 0;
    for (int k = 0; k < SL_KINDS; k++) resident += memory->kinds[k].resident_bytes;
    memcpy(figures->kinds, memory->kinds, sizeof(figures->kinds));
    uint64_t occupied = atomic_load(&core->migrator.occupied_bytes);
    figures->unused_bytes = occupied > resident ? occupied - resident : 0;
    figures->scanned = now;
    figures->scan_time = now - memory->begun;
}
