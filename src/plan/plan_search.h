/* The search for a plan: several ways are tried, and the best is kept. For each of them plan_choose.h decides
 * which chunks leave and come, and plan_schedule.h when. */
#ifndef SLUICE_PLAN_SEARCH_H
#define SLUICE_PLAN_SEARCH_H

#include "plan/plan.h"

/* Tries `input->attempts` ways beside Belady's, and keeps the best: see plan_search.c. As sl_plan_make. */
enum sl_status sl_plan_search(const struct sl_plan_input *input, const double *launch_ns,
                              struct sl_plan_lessons *lessons, struct sl_plan *out);

#endif
