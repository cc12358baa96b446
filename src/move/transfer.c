#include "move/transfer.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "device/device_clock.h"
#include "trace/trace_write.h"

#define RING 1024 /* size with a trace */

struct transfer {
    sl_event_handle begin, end;
    struct sl_event event; /* its record, without the times */
    bool whole;
};

struct sl_transfers {
    const struct sl_backend *backend;
    struct sl_device_clock *clock;
    struct sl_trace *trace; /* may be NULL */
    struct sl_link_lane *lane;
    sl_stream stream;
    uint64_t first, issued; /* transfers [first, issued) are in flight */
    uint64_t until;         /* movements before this number are timed */
    uint64_t last_end_ns;
    uint64_t speeds[SL_LINK_TRANSFERS], measured; /* of the last whole movements */
    _Atomic uint64_t best;
    uint32_t capacity;
    struct transfer ring[];
};

struct sl_transfers *sl_transfers_new(const struct sl_backend *backend, struct sl_device_clock *clock,
                                      struct sl_trace *trace, struct sl_link_lane *lane, sl_stream stream)
{
    uint32_t capacity = trace ? RING : SL_LINK_SPANS;
    struct sl_transfers *transfers = calloc(1, sizeof *transfers + capacity * sizeof *transfers->ring);
    if (!transfers) return NULL;
    transfers->backend = backend;
    transfers->clock = clock;
    transfers->trace = trace;
    transfers->lane = lane;
    transfers->capacity = capacity;
    transfers->until = trace ? UINT64_MAX : 0;
    transfers->stream = stream;
    return transfers;
}

static void delete_event(const struct sl_backend *backend, sl_event_handle event)
{
    if (event) backend->event_delete(backend->self, event);
}

void sl_transfers_delete(struct sl_transfers *transfers, bool device_gone)
{
    if (!transfers) return;
    for (uint32_t i = 0; i < transfers->capacity && !device_gone; i++) {
        delete_event(transfers->backend, transfers->ring[i].begin);
        delete_event(transfers->backend, transfers->ring[i].end);
    }
    free(transfers);
}

void sl_transfers_time_some(struct sl_transfers *transfers)
{
    if (!transfers->trace) transfers->until = transfers->issued + SL_LINK_SPANS;
}

bool sl_transfers_settled(const struct sl_transfers *transfers)
{
    return transfers->first == transfers->issued;
}

bool sl_transfers_begin(struct sl_transfers *transfers)
{
    if (transfers->issued == transfers->until) return false;
    struct transfer *transfer = &transfers->ring[transfers->issued % transfers->capacity];
    return transfers->issued - transfers->first < transfers->capacity &&
           sl_backend_record_timed(transfers->backend, &transfer->begin, transfers->stream);
}

void sl_transfers_end(struct sl_transfers *transfers, const struct sl_event *move, bool whole)
{
    struct transfer *transfer = &transfers->ring[transfers->issued % transfers->capacity];
    transfer->event = *move;
    transfer->event.type = SL_EVENT_TRANSFER;
    transfer->whole = whole;
    if (sl_backend_record_timed(transfers->backend, &transfer->end, transfers->stream)) transfers->issued++;
}

/* The median, because part of some movements' data may have been there already. */
static void note_speed(struct sl_transfers *transfers, double bytes_per_s)
{
    uint64_t sorted[SL_LINK_TRANSFERS];
    transfers->speeds[transfers->measured++ % SL_LINK_TRANSFERS] = (uint64_t)bytes_per_s;
    if (transfers->measured < SL_LINK_TRANSFERS) return;
    for (int i = 0; i < SL_LINK_TRANSFERS; i++) {
        int at = i;
        for (; at > 0 && sorted[at - 1] > transfers->speeds[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = transfers->speeds[i];
    }
    uint64_t median = sorted[SL_LINK_TRANSFERS / 2];
    if (median > atomic_load(&transfers->best)) atomic_store(&transfers->best, median);
}

static void read_times(struct sl_transfers *transfers, struct transfer *transfer)
{
    struct sl_event *event = &transfer->event;
    const struct sl_backend *backend = transfers->backend;
    event->b = sl_device_clock_when(transfers->clock, transfer->begin);
    event->c = backend->event_elapsed_ns(backend->self, transfer->begin, transfer->end);
    if (event->b < transfers->last_end_ns) event->b = transfers->last_end_ns; /* anchors differ a little */
    transfers->last_end_ns = event->b + event->c;
    event->time_ns = sl_clock_ns(CLOCK_MONOTONIC);
    if (transfer->whole && event->c) {
        sl_link_note(transfers->lane, event->b, event->b + event->c, event->a);
        note_speed(transfers, (double)event->a * 1e9 / (double)event->c);
    }
    if (transfers->trace) sl_trace_push(transfers->trace, event);
}

void sl_transfers_settle(struct sl_transfers *transfers)
{
    const struct sl_backend *backend = transfers->backend;
    while (transfers->first < transfers->issued) {
        struct transfer *transfer = &transfers->ring[transfers->first % transfers->capacity];
        if (!sl_is_yes(backend->event_done(backend->self, transfer->end))) return;
        read_times(transfers, transfer);
        transfers->first++;
    }
}

uint64_t sl_transfers_speed(const struct sl_transfers *transfers)
{
    return transfers ? atomic_load(&transfers->best) : 0;
}
