/* When chunks leave and come, once it is decided which do. */
#ifndef SLUICE_PLAN_SCHEDULE_H
#define SLUICE_PLAN_SCHEDULE_H

#include "plan/plan_choose.h"

/* What the schedule expects to go over the link, both ways, by when: bytes when a third, two thirds and all
 * of the launches have run, and the time when two thirds have. */
struct sl_course {
    double first_bytes, most_bytes, all_bytes, most_ns;
};

/* Decides when: writes the actions, and what the plan says about itself, into a zeroed plan, and the
 * course. */
enum sl_status sl_plan_schedule(const struct sl_plan_input *input, const double *launch_ns,
                                const struct sl_choice *choice, struct sl_plan *plan,
                                struct sl_course *course);

#endif
