/* Decides when the chosen chunks are evicted and fetched. */
#ifndef SLUICE_PLAN_SCHEDULE_H
#define SLUICE_PLAN_SCHEDULE_H

#include "plan/plan_choose.h"

/* Predicted bytes over the link, both directions, after a third, two thirds and all of the launches, and the
 * time after two thirds. */
struct sl_course {
    double first_bytes, most_bytes, all_bytes, most_ns;
};

/* Writes the actions and the plan's predictions into a zeroed plan, and the course. */
enum sl_status sl_plan_schedule(const struct sl_plan_input *input, const double *launch_ns,
                                const struct sl_choice *choice, struct sl_plan *plan,
                                struct sl_course *course);

#endif
