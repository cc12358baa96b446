/* A ring of events from one program thread to the trace's writer: single producer, single consumer,
 * lock-free. */
#ifndef SLUICE_TRACE_RING_H
#define SLUICE_TRACE_RING_H

#include "trace/events.h"

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
