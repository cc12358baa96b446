/* What a plan's input says of the future, the same for every way to plan.
 *
 * A moment is a point between launches: moment 0 lies before launches[0], moment m after launches[m - 1]. */
#ifndef SLUICE_PLAN_OUTLOOK_H
#define SLUICE_PLAN_OUTLOOK_H

#include "plan/plan.h"

/* What the input says of the future, the same for every way. */
struct sl_outlook {
    uint32_t *next;  /* for each access, in the order of the launches: the chunk's next use, or SL_NONE */
    uint32_t *death; /* and the launch after which it dies before that, or SL_NONE */
    uint32_t *first, *last;  /* for each chunk: the launches that use it first and last, or SL_NONE */
    uint32_t *first_death;   /* the launch after which it dies before its first use, or SL_NONE */
    const double *launch_ns; /* how long each launch runs */
    uint32_t access_count;
};

/* On SL_OK released with sl_outlook_free. */
enum sl_status sl_outlook_make(const struct sl_plan_input *input, const double *launch_ns,
                               struct sl_outlook *out);
void sl_outlook_free(struct sl_outlook *outlook); /* accepts a zeroed one */

#endif
