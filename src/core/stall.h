/* Launches that have to wait for a fetch, and for how long they did. */
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
    /* A launch that had to wait for a fetch: from `reached` to the fetch's event it stalled. */
    struct sl_stall {
        sl_event_handle reached;
        _Atomic uint64_t in_sequence; /* 0: free, or not measured yet */
        _Atomic bool given;           /* to a thread that has not come to its wait */
        sl_stream stream;             /* of the launch */
        sl_tick tick;
        uint32_t iteration;
    } at[SL_STALLS];
    uint32_t next;
};

/* The launch being begun has to wait. NULL: it is not measured for how long. Caller holds the order lock. */
struct sl_stall *sl_stall_new(struct sl_stalls *stalls);
/* Makes the stream wait for fetch `sequence`; `stall`, or NULL, notes when it got there. Enqueues: the order
 * lock must not be held. */
void sl_stall_wait(struct sl_stalls *stalls, struct sl_stall *stall, sl_stream stream, uint64_t sequence);

/* Reads the stalls whose launches have run. Caller holds the order lock. */
void sl_stalls_settle(struct sl_stalls *stalls);

#endif
