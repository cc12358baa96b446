/* What a driver's calls for managed memory cost, as far as the public part of NVIDIA's driver shows:
 * prefetches work in the thread that calls, block by block, or, if their stream is not idle, in one thread of
 * the driver's for all streams. docs/driver-model.md of sluice has the sources. Thread safety: none; the
 * caller holds the driver's lock.
 */
#ifndef SOFTCUDA_MOVES_H
#define SOFTCUDA_MOVES_H

#include "timing.h"

#define SC_CALLS 256

struct sc_call {
    uint64_t begin_ns, end_ns;
};

/* Of the process, for all devices. A zeroed structure is one before the first call. */
struct sc_moves {
    struct sc_timeline worker;      /* the driver's thread */
    struct sc_call calls[SC_CALLS]; /* the latest ones that move memory: a ring buffer */
    uint64_t call_count;
    struct sc_call advice; /* the latest: from when it was asked for */
};

/* Places a prefetch or discard as work->moves and work->is_deferred say: out->start_ns and out->end_ns are
 * those of the call. pre: work->moves. */
void sc_moves_place(struct sc_timing *timing, const struct sc_work *work, struct sc_placed *out);

/* Advice, and allocating and freeing managed memory, wait for the calls that move memory at `at_ns`, and hold
 * up those that come meanwhile. Returns when they begin. */
uint64_t sc_moves_wait(struct sc_moves *moves, uint64_t at_ns);

void sc_moves_destroy(struct sc_moves *moves);

#endif
