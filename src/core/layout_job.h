/* A search for better places of a period's allocations. Everything that it needs is read from the core at its
 * begin, so its steps may be another thread's. Caller holds the order lock, but for the steps. */
#ifndef SLUICE_LAYOUT_JOB_H
#define SLUICE_LAYOUT_JOB_H

#include "base/types.h"

struct sl_core;
struct sl_forecast;
struct sl_layout_job;

/* `forecast`: just begun, with at least two periods; the job takes it, and leaves an empty one. NULL: nothing
 * can move, or out of memory. `seed`: of the variations that are tried. */
struct sl_layout_job *sl_layout_job_new(struct sl_core *core, struct sl_forecast *forecast, size_t period,
                                        unsigned seed);
void sl_layout_job_delete(struct sl_layout_job *job); /* accepts NULL */

/* Tries another layout, which takes 0.1 ms to 0.1 s. False: all were tried. `job`: a struct sl_layout_job. */
bool sl_layout_job_step(void *job);
/* Whether the best layout makes the period faster. Precondition: all were tried. */
bool sl_layout_job_is_better(const struct sl_layout_job *job);

/* A symbol was fed. */
void sl_layout_job_came(struct sl_layout_job *job, sl_symbol symbol);
/* Whether the program came to the begin of the period since this was asked last. */
bool sl_layout_job_is_at_begin(struct sl_layout_job *job);
/* Whether the program did what was predicted since the job's begin, if its sizes do not vary. */
bool sl_layout_job_holds(const struct sl_layout_job *job);

/* Changes the places at which allocations are predicted. Precondition: the next symbol is the period's first.
 */
void sl_layout_job_apply(struct sl_layout_job *job);

#endif
