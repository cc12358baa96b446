/* When chunks are used: the future uses of each, the same for all attempts of a plan. */
#ifndef SLUICE_PLAN_USES_H
#define SLUICE_PLAN_USES_H

#include "plan/plan.h"

/* The future uses of the chunks. A moment is a point between launches: moment 0 is before launches[0], moment
 * m after launches[m - 1]. */
struct sl_outlook {
    uint32_t *next;          /* by access, in the order of the launches: the chunk's next use, or SL_NONE */
    uint32_t *death;         /* by access: the launch after which the chunk dies before that, or SL_NONE */
    uint32_t *first, *last;  /* by chunk: the first and last launches that use it, or SL_NONE */
    uint32_t *first_death;   /* by chunk: the launch after which it dies before its first use, or SL_NONE */
    const double *launch_ns; /* duration of each launch */
    uint32_t access_count;
};

/* On SL_OK release *out with sl_outlook_free. */
enum sl_status sl_outlook_make(const struct sl_plan_input *input, const double *launch_ns,
                               struct sl_outlook *out);
void sl_outlook_free(struct sl_outlook *outlook); /* accepts a zeroed one */

#endif
