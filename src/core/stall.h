/* Measures how long launches wait for fetches, and how long a step takes by the same clock.
 *
 * Stalls are measured by events, on the device's clock, which need not be the host's: a software device
 * simulates its times. So the step is measured by the events of stalls as well, and nothing more is
 * recorded. */
#ifndef SLUICE_STALL_H
#define SLUICE_STALL_H

#include "core/record.h"
#include "move/migrator.h"

#define SL_STALLS 256

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
        uint32_t iteration, step;
        bool first; /* of its step */
    } at[SL_STALLS];
    uint32_t next;
    uint32_t steps;      /* begun so far */
    uint32_t last_first; /* `steps` at the last stall that was the first of its step; 0: none yet */
    /* Where a stream got to the first stall of the newest step that is known to have got there. */
    struct sl_step_mark {
        sl_event_handle reached; /* NULL: none yet */
        uint32_t step;
        uint64_t stall_ns; /* of the stalls settled by then */
    } mark;
    /* Between the last two marks, for each step: its duration, and the stalls settled meanwhile; 0: unknown.
     */
    uint64_t step_ns, step_stall_ns;
};

/* An entry for the launch being begun, which has to wait. NULL: the stall is not measured. Caller holds the
 * order lock. */
struct sl_stall *sl_stall_new(struct sl_stalls *stalls);
/* Makes the stream wait for fetch `sequence`; `stall` (may be NULL) notes when the stream got there.
 * Enqueues: the order lock must not be held. */
void sl_stall_wait(struct sl_stalls *stalls, struct sl_stall *stall, sl_stream stream, uint64_t sequence);

/* Reads the stalls whose launches and fetches are done. Caller holds the order lock. */
void sl_stalls_settle(struct sl_stalls *stalls);
/* A step begins with the next launch. Caller holds the order lock. */
void sl_stalls_step(struct sl_stalls *stalls);
/* Deletes the events, unless the device is gone. Accepts a zeroed one. */
void sl_stalls_close(struct sl_stalls *stalls, bool device_gone);

#endif
