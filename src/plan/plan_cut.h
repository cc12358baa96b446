/* A plan that ends earlier. */
#ifndef SLUICE_PLAN_CUT_H
#define SLUICE_PLAN_CUT_H

#include "plan/plan.h"

/* Leaves out what is done for launches from `end` on: the plan then ends there. What it says about itself
 * stays.
 */
void sl_plan_cut(struct sl_plan *plan, sl_tick end);

#endif
