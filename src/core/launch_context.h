/* A launch between the steps of its beginning: what was found out under the order lock, for the work that is
 * done without it (rule 2 of docs/concurrency.md). Private to the launching thread. */
#ifndef SLUICE_LAUNCH_CONTEXT_H
#define SLUICE_LAUNCH_CONTEXT_H

#include "move/reuse.h"
#include "move/schedule.h"

enum { SL_FEW_CHUNKS = 64 };

struct sl_launch_context {
    struct sl_launch *launch;
    sl_tick tick;
    uint32_t stream; /* the stream's number */
    uint32_t kernel;
    sl_symbol symbol;
    const sl_chunk *chunks; /* that the launch uses, each once: `few` or `many` */
    uint32_t chunk_count;
    sl_chunk few[SL_FEW_CHUNKS], *many;
    struct sl_schedule_batch batch; /* steps of the schedule to issue */
    bool prefetches_successors;     /* successor prefetch, because no plan is active */
    bool resident;                  /* all its chunks will be resident when its stream gets there */
    uint64_t in_sequence;           /* the fetch that its stream waits for; 0: none */
    struct sl_joining joining;      /* waits for freed memory; data depends on them */
    bool beside;                    /* its stream may capture: rule 16 of docs/concurrency.md */
    struct sl_stall *stall;         /* measures the wait for `in_sequence`; or NULL */
};

#endif
