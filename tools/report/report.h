/* The data in the page of `sluice trace report`: the figures of traces as JSON.
 *
 * The figures are objects of the commands' own JSON (views/trace_json.h, plan/plan_report.h) and of analyses
 * that only the page shows. Everything is aggregated to a fixed resolution, so the page does not grow with
 * the trace. */
#ifndef SLUICE_TOOL_REPORT_H
#define SLUICE_TOOL_REPORT_H

#include <stdio.h>

#include "tools/views/job.h"

enum report_plan { REPORT_PLAN_AUTO, REPORT_PLAN_YES, REPORT_PLAN_NO };

struct report_wish {
    uint64_t step; /* training step to show, from 1; 0: the default one */
    unsigned plan; /* enum report_plan */
};

/* Returns the exit status; errors are on stderr. */
int report_data(const struct job *job, const struct report_wish *wish, FILE *to);

#endif
