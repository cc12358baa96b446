/* What a copy costs, learned from where the link was the bottleneck of a schedule. */
#ifndef SLUICE_PLAN_PRICES_H
#define SLUICE_PLAN_PRICES_H

#include "plan/plan_schedule.h"

/* Moves the prices towards what the course's critical path says, which is what its end waits for: all the way
 * with `rate` 1, not at all with 0. */
void sl_prices_learn(struct sl_prices *prices, const struct sl_plan_input *input, const double *launch_ns,
                     const struct sl_choice *choice, const struct sl_course *course, double rate);

#endif
