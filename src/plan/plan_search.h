/* The search for a plan: tries several choices and keeps the best plan. plan_choose.h chooses the movements,
 * plan_schedule.h their times. */
#ifndef SLUICE_PLAN_SEARCH_H
#define SLUICE_PLAN_SEARCH_H

#include "plan/plan.h"

/* Tries Belady's choice and then up to `input->attempts` others, and returns the best plan. Otherwise as
 * sl_plan_make. */
enum sl_status sl_plan_search(const struct sl_plan_input *input, const double *launch_ns,
                              struct sl_plan_lessons *lessons, struct sl_plan *out);

#endif
