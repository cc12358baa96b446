#include "core/record.h"

#include "base/clock.h"
#include "core/ticks.h"
#include "trace/trace_write.h"

#define SLOTS_WRITTEN_AT_ONCE 16

bool sl_record(struct sl_recorder *recorder, struct sl_event event)
{
    if (!recorder->trace) return false;
    event.tick = recorder->ticks->now;
    event.time_ns = sl_clock_ns(CLOCK_MONOTONIC);
    return sl_trace_push(recorder->trace, &event);
}

void sl_record_slabs(struct sl_recorder *recorder)
{
    uint32_t count = atomic_load(&recorder->arena->slab_count);
    for (; recorder->trace && recorder->slabs_written < count; recorder->slabs_written++) {
        struct sl_event event = {.type = SL_EVENT_SLAB,
                                 .flags = recorder->arena->slabs[recorder->slabs_written].pinned,
                                 .id = recorder->slabs_written * recorder->arena->chunks_per_slab,
                                 .a = recorder->arena->slabs[recorder->slabs_written].address,
                                 .b = SL_GIB};
        if (!sl_record(recorder, event)) return; /* the next allocation tries again */
    }
}

static struct sl_event launch_event(const struct sl_recorder *recorder, const struct sl_launch *launch,
                                    uint32_t kernel)
{
    struct sl_event event = {.type = SL_EVENT_LAUNCH,
                             .flags = (uint8_t)(launch->kind | launch->direction << 4),
                             .id = kernel,
                             .tick = recorder->ticks->now,
                             .time_ns = sl_clock_ns(CLOCK_MONOTONIC),
                             .a = (uint64_t)launch->stream,
                             .c = launch->span_count ? launch->spans[0].bytes : 0};
    if (launch->copied_bytes) event.c = launch->copied_bytes;
    if (launch->kind == SL_LAUNCH_KERNEL) {
        event.b = 1;
        for (int d = 0; d < 3; d++) event.b *= (uint64_t)launch->grid[d] * launch->block[d];
    }
    if (launch->kind == SL_LAUNCH_COLLECTIVE) {
        event.id = launch->collective;
        event.b = launch->communicator;
    }
    return event;
}

/* Writes a record for each allocation of an access, which may extend into the mappings that follow. */
static bool push_access(const struct sl_recorder *recorder, const struct sl_access *access, uint64_t time_ns)
{
    const struct sl_placement *placement = recorder->placement;
    const struct sl_slot *slot = &placement->slots[access->slot];
    uint64_t begin = access->offset, end = sl_access_end(placement, access);
    bool whole = true;
    while (slot) {
        const struct sl_slot *next = end > slot->bytes ? sl_place_next(placement, slot) : NULL;
        struct sl_event event = {.type = SL_EVENT_ACCESS,
                                 .flags = access->only_read,
                                 .id = (uint32_t)(slot - placement->slots),
                                 .tick = recorder->ticks->now,
                                 .time_ns = time_ns,
                                 .a = begin,
                                 .b = (next ? slot->bytes : end) - begin};
        whole &= sl_trace_push(recorder->trace, &event);
        end -= next ? slot->bytes : 0;
        begin = 0;
        slot = next;
    }
    return whole;
}

static void announce_kernel(struct sl_recorder *recorder, uint32_t kernel)
{
    struct sl_kernel *known = &recorder->scanner->kernels.kernels[kernel];
    if (!kernel || known->announced == recorder->lap + 1) return;
    known->announced = recorder->lap + 1;
    sl_record(recorder, (struct sl_event){.type = SL_EVENT_KERNEL, .id = kernel, .text = known->name});
}

void sl_record_allocation(struct sl_recorder *recorder, enum sl_event_type type, uint32_t slot)
{
    const struct sl_slot *s = &recorder->placement->slots[slot];
    sl_record(recorder, (struct sl_event){.type = (uint8_t)type,
                                          .id = slot,
                                          .a = s->address,
                                          .b = s->bytes,
                                          .c = type == SL_EVENT_ALLOC ? s->site : 0});
}

/* After a trace file with a limit began a new lap, live allocations must be recorded again. Each launch
 * records a few, so that none is delayed much. */
static void write_again(struct sl_recorder *recorder)
{
    uint32_t lap = sl_trace_lap(recorder->trace), end = recorder->placement->slot_count;
    if (lap != recorder->lap) {
        recorder->lap = lap;
        recorder->slabs_written = 0;
        sl_record_slabs(recorder);
        recorder->slots_written = 0;
    }
    if (!lap || recorder->slots_written >= end) return;
    if (end > recorder->slots_written + SLOTS_WRITTEN_AT_ONCE)
        end = recorder->slots_written + SLOTS_WRITTEN_AT_ONCE;
    for (; recorder->slots_written < end; recorder->slots_written++) {
        const struct sl_slot *slot = &recorder->placement->slots[recorder->slots_written];
        struct sl_event again = {.type = SL_EVENT_ALLOC,
                                 .flags = 1,
                                 .id = recorder->slots_written,
                                 .a = slot->address,
                                 .b = slot->bytes,
                                 .c = slot->site};
        if (slot->live) sl_record(recorder, again);
    }
}

/* Writes the accesses of a symbol only once, so a launch that repeats is one record. They are written again
 * if a record was lost. */
void sl_record_launch(struct sl_recorder *recorder, const struct sl_launch *launch,
                      const struct sl_usage *usage)
{
    if (!recorder->trace) return;
    write_again(recorder);
    announce_kernel(recorder, usage->kernel);
    uint64_t version = recorder->scanner->extents.version << 24 ^ recorder->lap;
    struct sl_symbol_record *known = &recorder->scanner->symbols->records[usage->symbol];
    struct sl_event event = launch_event(recorder, launch, usage->kernel);
    if (usage->symbol && known->recorded && known->recorded_version == version) {
        event.d = usage->access_count ? known->recorded : 0;
        sl_trace_push(recorder->trace, &event);
        return;
    }
    bool whole = sl_trace_push(recorder->trace, &event);
    for (uint32_t a = 0; a < usage->access_count; a++)
        whole &= push_access(recorder, &usage->accesses[a], event.time_ns);
    if (!whole) return;
    known->recorded = recorder->ticks->now;
    known->recorded_version = version;
}
