/* A plan that was made beside the launches takes over: the chunks are not quite where it has them, because it
 * was made from a prediction, or came late. What should have left leaves first, and what should have come
 * comes in time for its next use. */
#ifndef SLUICE_PLAN_SWITCH_H
#define SLUICE_PLAN_SWITCH_H

#include "core/planner.h"

struct sl_planning;

/* Makes the launches after the newest one go by the job's plan, while that one is being begun. `follows`:
 * the plan begins with the next launch, where what is carried out now ends; then only what was not issued yet
 * is looked at, and a few other chunks, others each time. pre: the plan covers the next launch, and may begin
 * with it. Caller holds the order lock and both directions' locks. */
void sl_plan_switch(const struct sl_planning *planning, struct sl_plan_job *job, bool follows);

#endif
