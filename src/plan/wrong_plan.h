/* Makes plans wrong on purpose, so that tests can check that a wrong plan costs time but never data. Only in
 * objects compiled with SLUICE_TEST_HOOKS, with the seed SLUICE_TEST_WRONG_PLANS; other objects contain
 * nothing of it. */
#ifndef SLUICE_WRONG_PLAN_H
#define SLUICE_WRONG_PLAN_H

#include "plan/plan.h"

#ifdef SLUICE_TEST_HOOKS
/* Changes random actions: removes them, makes them too early, confuses live and dead content, or names other
 * chunks. The plan can still be carried out: actions are in the order of `after`, and frames come from
 * earlier actions. */
void sl_wrong_plan(const struct sl_plan_input *input, struct sl_plan *plan);
#define SL_WRONG_PLAN(input, plan) sl_wrong_plan(input, plan)
#else
#define SL_WRONG_PLAN(input, plan) ((void)0)
#endif

#endif
