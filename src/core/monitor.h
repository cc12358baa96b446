/* What a core shows of its run to `sluice top`. Caller holds the order lock, unless said otherwise.
 *
 * The figures are stored in shared memory (monitor_page.h) from time to time. About once a second all
 * allocations are visited for what fills the budget (monitor_memory.h). Nothing here makes a system call. */
#ifndef SLUICE_MONITOR_H
#define SLUICE_MONITOR_H

#include "core/monitor_memory.h"

struct sl_core;

/* A core's part. Zeroed: nothing is shown. */
struct sl_monitor {
    struct sl_monitor_entry *entry;
    struct sl_monitor_figures figures; /* as last stored */
    struct sl_monitor_sums at_step;    /* total when the current step began */
    struct sl_monitor_memory memory;
    uint64_t scans, next_scan_ns; /* so far, and when the next one is due by CLOCK_MONOTONIC */
    uint64_t plan_generation;     /* of the plan whose begin is known */
    sl_symbol expected, came;     /* symbols of the last misprediction, if `differs` */
    bool differs;                 /* they are not in `figures` yet */
};

/* Shows the core from now on. The process's first core creates the page, unless SLUICE_TOP=off; the core's
 * number is set. Nothing else runs yet. */
void sl_monitor_begin(struct sl_core *core);
/* Stores the current figures. */
void sl_monitor_update(struct sl_core *core);
/* A training step ended. */
void sl_monitor_step(struct sl_core *core);
/* Symbol `came`, event number `event` of the history, was fed instead of `expected`. */
void sl_monitor_mispredicted(struct sl_monitor *monitor, sl_symbol expected, sl_symbol came, uint64_t event);
/* The core's symbols are forgotten. */
void sl_monitor_forget(struct sl_monitor *monitor);

/* The process ends: removes the page. */
void sl_monitor_end(void);
/* In a child after fork: the page is the parent's. `core` may be NULL. No lock. */
void sl_monitor_leave(struct sl_core *core);

#endif
