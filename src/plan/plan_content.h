/* The content of the chunks at some point of a plan. Pure. */
#ifndef SLUICE_PLAN_CONTENT_H
#define SLUICE_PLAN_CONTENT_H

#include "plan/plan.h"

/* Sets content[c] of each chunk to its content before launch `launch` of the input, if all actions are issued
 * that may be issued before the previous launch is submitted: those with `after` < first_tick + launch - 1.
 * Precondition: launch <= launch_count. */
void sl_plan_content(const struct sl_plan_input *input, const struct sl_plan *plan, size_t launch,
                     enum sl_chunk_content *content);

#endif
