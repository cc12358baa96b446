/* A new plan takes over. The chunks may differ from its input, because that was a prediction, or because the
 * plan comes late. Chunks that should have been evicted are evicted first; chunks that should have been
 * fetched are fetched in time for their next use. */
#ifndef SLUICE_PLAN_SWITCH_H
#define SLUICE_PLAN_SWITCH_H

#include "core/planner.h"

struct sl_planning;

/* Makes the job's plan the schedule, from the next launch on, while the newest launch is being begun.
 * `follows`: the plan begins with the next launch, where the active plan ends. Then only steps of the active
 * plan that were not issued, and a sixteenth of the chunks, in turn, are compared. Precondition: the plan
 * covers the next launch. Caller holds the order lock and both directions' locks. */
void sl_plan_switch(const struct sl_planning *planning, struct sl_plan_job *job, bool follows);

#endif
