/* The linear program of a period: which parts of chunks leave in which gaps between their uses, and when
 * copies go over the link, so that launches wait least. It is that of tests/bound/lower_bound.py with
 * launches taken together in blocks, and chunks that are used alike in one. Private to plan_relax.c. */
#ifndef SLUICE_PLAN_PROGRAM_H
#define SLUICE_PLAN_PROGRAM_H

#include "plan/linear.h"
#include "plan/plan_uses.h"

/* Variables of a block: before it, a time of waiting in which copies go over the link, then its launches'
 * run. */
struct sl_block {
    uint32_t away, leaving_before, leaving_behind, early_before, early_behind;
    uint32_t wait, in_wait, in_run, out_wait, out_run;
    /* Rows: */
    uint32_t away_row, leaving_row, early_row; /* from the block before it to this one */
    double ns, live;
};

/* Chunks that are used alike count as one. A gap: what lies between two uses of theirs, or a use and their
 * death. */
struct sl_program {
    struct sl_linear *linear;
    struct sl_uses uses;
    uint32_t *leaves; /* by access: a variable, how much of all chunks used alike leaves in the gap behind it;
                         UINT32_MAX */
    double *units;       /* by chunk: its bytes */
    uint32_t block_count;
    uint32_t *block_of; /* by launch */
    struct sl_block *blocks;
    uint32_t away_first_row, more; /* a row; a variable: copies beyond `most_bytes` */
    double unit_bytes, unit_ns;    /* of the largest chunk, and of its copy in */
};

/* Of the first `period` launches of valid input, which take `launch_ns` each. `most_bytes`: that a period
 * copies, but for copies that save launches more than a quarter of the time that they take on the link. On
 * SL_OK released with sl_program_free. SL_ERR_UNSUPPORTED: the next launches do not repeat them, they are too
 * many, or one exceeds the budget; or there is no memory. */
enum sl_status sl_program_make(const struct sl_plan_input *input, const double *launch_ns, size_t period,
                               double most_bytes, struct sl_program *out);
void sl_program_free(struct sl_program *program); /* accepts a zeroed or half-built one */

/* How long launches of a period wait, in what was found by now. */
double sl_program_wait_ns(const struct sl_program *program);

#endif
