/* Plans that are wrong on purpose, so that tests see that a wrong plan costs time and never data. Only in
 * objects that are compiled with SLUICE_TEST_HOOKS, by the seed SLUICE_TEST_WRONG_PLANS; in all others
 * nothing is left of them. */
#ifndef SLUICE_WRONG_PLAN_H
#define SLUICE_WRONG_PLAN_H

#include "plan/plan.h"

#ifdef SLUICE_TEST_HOOKS
/* By chance leaves actions out, makes them too early, that live content is dead and
 * dead content alive, or names another chunk. What it leaves can still be carried out: in the order of
 * `after`, frames from what comes before. */
void sl_wrong_plan(const struct sl_plan_input *input, struct sl_plan *plan);
#define SL_WRONG_PLAN(input, plan) sl_wrong_plan(input, plan)
#else
#define SL_WRONG_PLAN(input, plan) ((void)0)
#endif

#endif
