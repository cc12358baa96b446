/* The step time over the budget for the report, as `sluice plan` predicts it. */
#ifndef SLUICE_TOOL_REPORT_PLAN_H
#define SLUICE_TOOL_REPORT_PLAN_H

#include "tools/text/json.h"
#include "tools/views/job.h"

/* Writes the object "plan": the prediction and the command that repeats it, or why there is none. `plan`:
 * enum report_plan. Returns the exit status; errors are on stderr. */
int report_plan(struct json *json, const struct job *job, unsigned plan);

#endif
