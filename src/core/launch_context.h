/* One launch between the parts of its beginning: what the order lock was needed to find out, and what is left
 * to do without it. The thread's own. */
#ifndef SLUICE_LAUNCH_CONTEXT_H
#define SLUICE_LAUNCH_CONTEXT_H

#include "move/reuse.h"
#include "move/schedule.h"

enum { SL_FEW_CHUNKS = 64 };

struct sl_launch_context {
    struct sl_launch *launch;
    sl_tick tick;
    uint32_t stream; /* its number */
    uint32_t kernel;
    sl_symbol symbol;
    const sl_chunk *chunks; /* that it uses, each once: `few` or `many` */
    uint32_t chunk_count;
    sl_chunk few[SL_FEW_CHUNKS], *many;
    struct sl_schedule_batch batch; /* of the plan */
    bool prefetches_successors;     /* though nothing is planned */
    bool resident;                  /* its chunks are, when its stream gets there */
    uint64_t in_sequence;           /* the fetch that its stream has to wait for; 0: none */
    struct sl_joining joining;      /* what keeps data: its stream waits for that, too */
    struct sl_stall *stall;         /* that measures the wait for in_sequence, or NULL */
};

#endif
