/* What fills the budget, for `sluice top`: the allocations by kind, and where the bytes of each are. All
 * allocations are visited once for each scan.
 *
 * A visit is done by the launches, a bounded part at a time, so none of them is held up for longer if there
 * are more allocations. If they fit in one part, the figures are of one moment, except for movements that
 * other threads issue meanwhile. Caller holds the order lock. */
#ifndef SLUICE_MONITOR_MEMORY_H
#define SLUICE_MONITOR_MEMORY_H

#include "core/monitor_page.h"

struct sl_core;

/* How much one call visits: parts of allocations in chunks, of SL_MONITOR_PART each, and slots without an
 * allocation, of 1 each. */
#define SL_MONITOR_PART 8
#define SL_MONITOR_WORK (512 * SL_MONITOR_PART)

/* Zeroed: nothing was asked. */
struct sl_monitor_memory {
    uint64_t allocations_at_step, allocations_before; /* when the current step and the last one began */
    sl_tick tick_at_step, tick_before;                /* the last launch before each of them */
    uint32_t steps;                                   /* noted ones, up to 2 */
    uint64_t answered;                                /* the last question that was answered, or is now */
    bool goes_on;                                     /* it is being answered */
    uint32_t slot;                                    /* the next one to visit */
    uint64_t number, offset;                          /* of a slot that was visited in part: up to where */
    struct sl_monitor_kind kinds[SL_KINDS];           /* as visited so far */
    uint64_t begun;                                   /* in ticks of sl_clock_ticks */
};

/* A step ended. `allocations`, `tick`: the number of allocations so far, and its last launch. */
void sl_monitor_memory_step(struct sl_monitor_memory *memory, uint64_t allocations, sl_tick tick);

/* Answers question number `asked`, or goes on with that: visits at most SL_MONITOR_WORK. Sets the
 * members of *figures that a scan finds when it is complete. `now`: sl_clock_ticks. */
void sl_monitor_memory_scan(struct sl_monitor_memory *memory, const struct sl_core *core, uint64_t asked,
                            uint64_t now, struct sl_monitor_figures *figures);

#endif
