/* Where a plan has the chunks be at some time. Pure. */
#ifndef SLUICE_PLAN_CONTENT_H
#define SLUICE_PLAN_CONTENT_H

#include "plan/plan.h"

/* Sets content[c] of each chunk to what it is before launch `launch` of the input, when all actions are
 * issued that may be before the launch in front of it has been submitted: those with `after` < first_tick +
 * launch - 1. `launch` is at most launch_count. */
void sl_plan_content(const struct sl_plan_input *input, const struct sl_plan *plan, size_t launch,
                     enum sl_chunk_content *content);

/* The same of the transfers that are in flight before launch input->served: see sl_plan_input.settles_ns. */
void sl_plan_in_flight(const struct sl_plan_input *input, const struct sl_plan *plan, uint64_t *settles_ns);

#endif
