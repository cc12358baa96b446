/* Writes traces. Each thread has a ring; one writer thread drains the rings into the file. A full ring drops
 * records and reports this with SL_EVENT_GAP, or waits (SLUICE_TRACE_FULL=wait). */
#ifndef SLUICE_TRACE_WRITE_H
#define SLUICE_TRACE_WRITE_H

#include <stdatomic.h>

#include "base/options.h"
#include "trace/events.h"

struct sl_trace;

struct sl_trace_options {
    enum sl_trace_full full;
    uint64_t limit_bytes; /* 0: no limit */
    bool threads;         /* the first record of each thread is SL_EVENT_THREAD */
};

/* Creates `path` (0600, never through a link) and starts the writer with all signals blocked. */
enum sl_status sl_trace_open(const char *path, const struct sl_trace_options *options, struct sl_trace **out);

/* The number of segments that a limited file has begun. When it has changed, records that others refer to
 * (kernels, accesses, live allocations) must be written again. Any thread. */
uint32_t sl_trace_lap(const struct sl_trace *trace);

/* Thread-safe; lock-free in the steady state, about 20 ns. Does nothing if `trace` is NULL. False: the record
 * is lost. */
bool sl_trace_push(struct sl_trace *trace, const struct sl_event *event);

/* Drains the rings, writes the end record and closes the file. Accepts NULL. */
void sl_trace_close(struct sl_trace *trace);

/* In the child after fork: abandons the parent's file and thread without touching them. */
void sl_trace_abandon(struct sl_trace *trace);

/* For records that are written without the order lock. Any thread. Sends later ones to `trace`; NULL:
 * nowhere. `tick`: the newest launch's tick; must live as long as `trace`. */
void sl_trace_emit_to(struct sl_trace *trace, const _Atomic sl_tick *tick);
bool sl_trace_emits(void);

/* A `tick` of 0 means the newest launch's, a `time_ns` of 0 the present. False: no trace is written, or the
 * record is lost. */
bool sl_trace_emit(struct sl_event event);

/* A ring of events from one program thread to the trace's writer: single producer, single consumer,
 * lock-free. */

/* Records; a power of two. SL_RING_KEPT slots are reserved for rare records that the others depend on. */
#define SL_RING_SLOTS ((uint64_t)1 << 14)
#define SL_RING_KEPT (SL_RING_SLOTS / 16)

enum sl_ring_state {
    SL_RING_FREE,   /* any thread may claim it */
    SL_RING_OWNED,  /* a thread writes to it */
    SL_RING_ORPHAN, /* its thread has ended; the consumer empties and frees it */
};

struct sl_ring {
    /* Written by the producer. The consumer reads `lost` once the producer has ended. */
    _Alignas(64) uint64_t head;
    uint64_t tail_seen;
    uint64_t lost;
    sl_tick lost_tick; /* of the first lost record */
    /* Written by the consumer. `drained` counts its visits; a producer that waits for room sleeps on it. */
    _Alignas(64) uint64_t tail;
    uint32_t drained;
    _Alignas(64) uint32_t state; /* enum sl_ring_state */
    uint32_t thread;
    _Alignas(64) struct sl_event slots[SL_RING_SLOTS];
};

/* Producer. False: the ring is full for records of this type. Writes the gap record first if records were
 * lost. */
bool sl_ring_push(struct sl_ring *ring, const struct sl_event *event);

/* Producer. Counts one record as lost. */
void sl_ring_lose(struct sl_ring *ring, sl_tick tick);

/* Consumer. The oldest record, or NULL. Valid until sl_ring_pop. */
const struct sl_event *sl_ring_peek(const struct sl_ring *ring);
void sl_ring_pop(struct sl_ring *ring);

/* Consumer. Makes a gap record with this time for the lost records that are not reported yet; false: there
 * are none. Precondition: the producer has ended, or reporting the same loss twice is harmless. */
bool sl_ring_take_lost(struct sl_ring *ring, uint64_t time_ns, struct sl_event *out);

#endif
