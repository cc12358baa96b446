/* The output of `sluice plan`. */
#ifndef SLUICE_TOOL_PLAN_REPORT_H
#define SLUICE_TOOL_PLAN_REPORT_H

#include "tools/plan/configurations.h"
#include "tools/text/json.h"

struct plan_report {
    const struct replay_job *job;
    char *const *paths;                    /* of the ranks' traces */
    const struct predictions *predictions; /* at least one */
    const struct prediction *least;        /* see plan_least_budget; NULL: not requested */
    bool bound;                            /* the predictions have one */
    bool sought; /* chunk sizes were searched: the best one for each budget is shown */
};

/* False: out of memory. */
bool plan_print_text(const struct plan_report *report);
void plan_json(struct json *json, const char *key,
               const struct plan_report *report); /* key: as for json_object */

#endif
