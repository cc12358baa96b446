/* Runs a plan against the program it was made for, as a device may: in any order that the contract allows. */
#ifndef SLUICE_TESTS_PLAN_CHECK_H
#define SLUICE_TESTS_PLAN_CHECK_H

#include "plan/plan.h"

/* Asserts, by cmocka, what plan.h promises about one plan's actions taken alone: order, references,
 * deadlines. */
void check_actions(const struct sl_plan_input *input, const struct sl_plan *plan);

/* Executes launches and actions in an order drawn from `seed`, and asserts that the bytes on the device stay
 * within the budget, that what a launch uses is there, and that content is neither lost nor copied when it is
 * dead. */
void check_execution(const struct sl_plan_input *input, const struct sl_plan *plan, uint64_t seed);

uint32_t random_below(uint64_t *state, uint32_t n);

#endif
