/* Measures how long launches wait for fetches. */
#ifndef SLUICE_STALL_H
#define SLUICE_STALL_H

#include "core/record.h"
#include "move/migrator.h"

#define SL_STALLS 64

struct sl_stalls {
    const struct sl_backend *backend;
    const struct sl_ticks *ticks;
    struct sl_migrator *migrator;
    struct sl_stats *stats;
    struct sl_recorder *recorder;
    /* A launch that has to wait for a fetch. It stalls from `reached` to the fetch's event. */
    struct sl_stall {
        sl_event_handle reached;
        _Atomic uint64_t in_sequence; /* the fetch; 0: free, or the wait is not enqueued yet */
        _Atomic bool given;           /* a thread owns the entry and has not enqueued its wait yet */
        sl_stream stream;             /* the launch's */
        sl_tick tick;
        uint32_t iteration;
    } at[SL_STALLS];
    uint32_t next;
};

/* An entry for the launch being begun, which has to wait. NULL: the stall is not measured. Caller holds the
 * order lock. */
struct sl_stall *sl_stall_new(struct sl_stalls *stalls);
/* Makes the stream wait for fetch `sequence`; `stall` (may be NULL) notes when the stream got there.
 * Enqueues: the order lock must not be held. */
void sl_stall_wait(struct sl_stalls *stalls, struct sl_stall *stall, sl_stream stream, uint64_t sequence);

/* Reads the stalls whose launches and fetches are done. Caller holds the order lock. */
void sl_stalls_settle(struct sl_stalls *stalls);

#endif
