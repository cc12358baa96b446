/* What `sluice plan` says. */
#ifndef SLUICE_TOOL_PLAN_REPORT_H
#define SLUICE_TOOL_PLAN_REPORT_H

#include "tools/plan/configurations.h"

struct plan_report {
    const struct replay_job *job;
    char *const *paths;                    /* of the ranks' traces */
    const struct predictions *predictions; /* one at least */
    const struct prediction *least;        /* see plan_least_budget; NULL: nobody looked for it */
    bool sought;                           /* chunk sizes were: the best one of each budget is shown */
};

/* False when there is no memory. */
bool plan_print_text(const struct plan_report *report);
void plan_print_json(const struct plan_report *report);

#endif
