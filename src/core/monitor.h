/* Sets the figures of a core that are no counters (move/stats.h), and shows all of them to `sluice top`.
 * Caller holds the order lock, unless said otherwise. Nothing here makes a system call, except where a page
 * begins and ends, and the clock may be one.
 *
 * The figures are copied to shared memory (monitor_page.h) from time to time. About once a second all
 * allocations are visited once for what fills the budget: the allocations by kind, and where the bytes of
 * each are. A visit is done by the launches, a bounded part at a time, so none of them is held up for longer
 * if there are more allocations. If they fit in one part, the figures are of one moment, except for movements
 * that other threads issue meanwhile. */
#ifndef SLUICE_MONITOR_H
#define SLUICE_MONITOR_H

#include "core/monitor_page.h"

struct sl_core;

/* How much one call visits: parts of allocations in chunks, of SL_SCAN_PART each, and slots without an
 * allocation, of 1 each. */
#define SL_SCAN_PART 8
#define SL_SCAN_WORK (512 * SL_SCAN_PART)

/* How far the visit is. Zeroed: none was begun. */
struct sl_scan {
    uint64_t allocations_at_step, allocations_before; /* when the current step and the last one began */
    sl_tick tick_at_step, tick_before;                /* the last launch before each of them */
    uint32_t steps;                                   /* noted ones, up to 2 */
    bool goes_on;
    uint32_t slot;                        /* the next one to visit */
    uint64_t number, offset;              /* of a slot that was visited in part: up to where */
    struct sl_kind_bytes kinds[SL_KINDS]; /* as visited so far */
    uint64_t begun_ns;
};

/* A core's part. Zeroed: nothing is shown. */
struct sl_monitor {
    bool shown;
    struct sl_counts at_step; /* stats.total when the current step began */
    struct sl_scan scan;
    uint64_t next_scan_ns;    /* when it is due, by CLOCK_MONOTONIC */
    uint64_t plan_generation; /* of the plan whose begin is known */
    sl_symbol expected, came; /* symbols of the last misprediction, if `differs` */
    bool differs;             /* they are not named in the figures yet */
};

/* The core's figures are complete from now on, and shown. The process's first core creates the page, unless
 * SLUICE_TOP=off; the core's number is set. Nothing else runs yet. */
void sl_monitor_begin(struct sl_core *core);
/* Sets the figures that outputs other than `sluice top` need, as of now. */
void sl_monitor_observe(struct sl_core *core);
/* Sets and shows all figures. */
void sl_monitor_update(struct sl_core *core);
/* A training step ended. Sets all figures, whether they are shown or not. */
void sl_monitor_step(struct sl_core *core);
/* Symbol `came` was fed last, instead of `expected`. */
void sl_monitor_mispredicted(struct sl_core *core, sl_symbol expected, sl_symbol came);

/* In a child after fork: the page is the parent's. No lock. */
void sl_monitor_leave(struct sl_core *core);

/* A step ended. `allocations`, `tick`: the number of allocations so far, and its last launch. */
void sl_scan_step(struct sl_scan *scan, uint64_t allocations, sl_tick tick);
/* Goes on with the visit, or begins one if none goes on and one is due: visits at most SL_SCAN_WORK. Sets the
 * figures that a scan finds when it is complete. `now_ns`: by CLOCK_MONOTONIC. */
void sl_scan_go_on(struct sl_scan *scan, const struct sl_core *core, bool due, uint64_t now_ns,
                   struct sl_stats *stats);

#endif
