/* When chunks leave and come, once it is decided which do. */
#ifndef SLUICE_PLAN_SCHEDULE_H
#define SLUICE_PLAN_SCHEDULE_H

#include "plan/plan_choose.h"

/* When everything happens, in ns from moment 0, as the schedule expects it. A release's place is that in the
 * queue of evictions. */
struct sl_course {
    double *start;               /* of each launch, and the end of the last */
    double *in_end;              /* of each request */
    uint32_t *frame;             /* of each request: the place of the release that it waits for; SL_NONE */
    double *out_begin, *out_end; /* by place */
    uint32_t *out_moment;        /* by place: after which moment the release was issued */
    double first_bytes;          /* what went over the link when a third of the launches have run, */
    double most_ns, most_bytes;  /* and when two thirds have, and when that is, */
    double all_bytes;            /* and in the end */
};

/* On SL_OK released with sl_course_free. */
enum sl_status sl_course_new(size_t launches, size_t accesses, size_t chunks, struct sl_course *out);
void sl_course_free(struct sl_course *course); /* accepts a zeroed one */

/* Decides when: writes the actions, and what the plan says about itself, into a zeroed plan, and the course
 * into the arrays of *course. */
enum sl_status sl_plan_schedule(const struct sl_plan_input *input, const double *launch_ns,
                                const struct sl_choice *choice, struct sl_plan *plan,
                                struct sl_course *course);

#endif
