/* Shortens a plan. */
#ifndef SLUICE_PLAN_CUT_H
#define SLUICE_PLAN_CUT_H

#include "plan/plan.h"

/* Removes the actions for launches from `end` on. The plan's predictions of time and bytes stay as they are.
 */
void sl_plan_cut(struct sl_plan *plan, sl_tick end);

#endif
