#include "move/transfer.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "device/device_clock.h"
#include "trace/trace_write.h"

#define RING 1024 /* size with a trace */

void sl_link_note(struct sl_link_lane *lane, uint64_t begin_ns, uint64_t end_ns, uint64_t bytes)
{
    if (end_ns <= begin_ns || !bytes) return;
    lane->spans[lane->count++ % SL_LINK_SPANS] = (struct sl_link_span){begin_ns, end_ns, bytes};
}

static uint32_t held(const struct sl_link_lane *lane)
{
    return lane->count < SL_LINK_SPANS ? (uint32_t)lane->count : SL_LINK_SPANS;
}

static uint64_t overlap_ns(const struct sl_link_span *span, const struct sl_link_span *other)
{
    uint64_t begin = span->begin_ns > other->begin_ns ? span->begin_ns : other->begin_ns;
    uint64_t end = span->end_ns < other->end_ns ? span->end_ns : other->end_ns;
    return begin < end ? end - begin : 0;
}

/* Nanoseconds of the span in which movements of the lane ran, each counted by itself. */
static uint64_t shared_ns(const struct sl_link_span *span, const struct sl_link_lane *lane)
{
    uint64_t shared = 0;
    for (uint32_t i = 0; i < held(lane); i++) shared += overlap_ns(span, &lane->spans[i]);
    return shared;
}

/* The speed of the direction during one of its movements: movers work side by side, so it has so many at a
 * time; and while the other direction runs as well, its movements are slower. */
static double speed_during(const struct sl_link_span *span, const struct sl_link_lane *lane,
                           const struct sl_link_lane *other)
{
    double whole = (double)(span->end_ns - span->begin_ns), both = (double)shared_ns(span, other);
    double beside = (double)shared_ns(span, lane) / whole;
    if (both > whole) both = whole;
    return (double)span->bytes * 1e9 * beside / (both + (whole - both) / SL_LINK_SHARED);
}

/* The median over the movements: for some, part of the data may have been there already, and some may have
 * waited for something unknown. */
static uint64_t speed(const struct sl_link_lane *lane, const struct sl_link_lane *other)
{
    uint64_t sorted[SL_LINK_SPANS];
    if (lane->count < SL_LINK_LEAST) return 0;
    for (uint32_t i = 0; i < held(lane); i++) {
        uint64_t each = (uint64_t)speed_during(&lane->spans[i], lane, other);
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > each; at--) sorted[at] = sorted[at - 1];
        sorted[at] = each;
    }
    return sorted[held(lane) / 2];
}

void sl_link_speeds(const struct sl_link *link, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s)
{
    uint64_t in = speed(&link->in, &link->out), out = speed(&link->out, &link->in);
    if (!in && !out) return;
    *in_bytes_per_s = in ? in : out;
    *out_bytes_per_s = out ? out : in;
}

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

static void read_times(struct sl_transfers *transfers, struct transfer *transfer, bool in_order)
{
    struct sl_event *event = &transfer->event;
    const struct sl_backend *backend = transfers->backend;
    event->b = sl_device_clock_when(transfers->clock, transfer->begin);
    event->c = backend->event_elapsed_ns(backend->self, transfer->begin, transfer->end);
    /* Anchors differ a little. */
    if (in_order && event->b < transfers->last_end_ns) event->b = transfers->last_end_ns;
    if (in_order) transfers->last_end_ns = event->b + event->c;
    event->time_ns = sl_clock_ns(CLOCK_MONOTONIC);
    if (transfer->whole && event->c) {
        sl_link_note(transfers->lane, event->b, event->b + event->c, event->a);
        note_speed(transfers, (double)event->a * 1e9 / (double)event->c);
    }
    if (transfers->trace) sl_trace_push(transfers->trace, event);
}

bool sl_transfers_want(const struct sl_transfers *transfers)
{
    return transfers->issued != transfers->until;
}

void sl_transfers_note(struct sl_transfers *transfers, sl_event_handle begin, sl_event_handle end,
                       const struct sl_event *move, bool whole)
{
    struct transfer transfer = {.begin = begin, .end = end, .event = *move, .whole = whole};
    transfer.event.type = SL_EVENT_TRANSFER;
    /* It is one of those that are timed, but takes no place among those in flight. */
    if (transfers->until != UINT64_MAX && transfers->until > transfers->issued) transfers->until--;
    read_times(transfers, &transfer, false);
}

void sl_transfers_settle(struct sl_transfers *transfers)
{
    const struct sl_backend *backend = transfers->backend;
    while (transfers->first < transfers->issued) {
        struct transfer *transfer = &transfers->ring[transfers->first % transfers->capacity];
        if (!sl_is_yes(backend->event_done(backend->self, transfer->end))) return;
        read_times(transfers, transfer, true);
        transfers->first++;
    }
}

uint64_t sl_transfers_speed(const struct sl_transfers *transfers)
{
    return transfers ? atomic_load(&transfers->best) : 0;
}
