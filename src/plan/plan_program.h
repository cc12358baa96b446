/* The linear program of a period: which parts of chunks are evicted in which gaps between their uses, and
 * when copies use the link, so that launches wait least. It is the program of tests/bound/lower_bound.py,
 * with launches combined into blocks, and chunks with the same events into one. Private to plan_relax.c. */
#ifndef SLUICE_PLAN_PROGRAM_H
#define SLUICE_PLAN_PROGRAM_H

#include "plan/linear.h"
#include "plan/plan_uses.h"

/* Variables of a block of launches. The run of its launches follows a wait, in which copies use the link as
 * well. */
struct sl_block {
    uint32_t away, leaving_before, leaving_behind, early_before, early_behind;
    uint32_t wait, in_wait, in_run, out_wait, out_run;
    /* Rows: */
    uint32_t away_row, leaving_row, early_row; /* from the previous block to this one */
    double ns, live;
};

/* Chunks with the same events count as one. A gap lies between two of their uses, or between a use and their
 * death. */
struct sl_program {
    struct sl_linear *linear;
    struct sl_uses uses;
    uint32_t *leaves; /* by access: the variable for how much of all such chunks is evicted in the gap after
                         it; or UINT32_MAX */
    double *units;    /* by chunk: its size in units */
    uint32_t block_count;
    uint32_t *block_of; /* by launch */
    struct sl_block *blocks;
    uint32_t away_first_row, more; /* a row; the variable for copies beyond `most_bytes` */
    double unit_bytes, unit_ns;    /* bytes of the largest chunk, and time of its copy in */
};

/* Makes the program of the first `period` launches of valid input. `launch_ns`: their durations.
 * `most_bytes`: the bound on a period's copies; further copies must save more than a quarter of their time on
 * the link. SL_ERR_UNSUPPORTED: the next launches do not repeat them, they are too many, one exceeds the
 * budget, or there is no memory. On SL_OK release *out with sl_program_free. */
enum sl_status sl_program_make(const struct sl_plan_input *input, const double *launch_ns, size_t period,
                               double most_bytes, struct sl_program *out);
void sl_program_free(struct sl_program *program); /* accepts a zeroed or half-built one */

/* The waiting time of a period's launches in the current solution. */
double sl_program_wait_ns(const struct sl_program *program);

#endif
