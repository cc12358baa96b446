/* The figures of one trace for the report. */
#ifndef SLUICE_TOOL_REPORT_TRACE_H
#define SLUICE_TOOL_REPORT_TRACE_H

#include "tools/text/json.h"
#include "tools/views/job.h"

/* Writes the object of the job's trace number `r`, for a training step (0: the default one). Returns the exit
 * status; errors are on stderr. */
int report_trace(struct json *json, const struct job *job, size_t r, uint64_t step);

#endif
