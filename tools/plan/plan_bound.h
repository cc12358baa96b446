/* The bounds of `sluice plan --bound`: how far predicted steps are from what link and driver allow at all. */
#ifndef SLUICE_TOOL_PLAN_BOUND_H
#define SLUICE_TOOL_PLAN_BOUND_H

#include "tools/plan/configurations.h"
#include "tools/text/json.h"

/* Preconditions: the least traffic was sought (see struct plan_wish). */
void plan_bound_json(struct json *json, const struct prediction *prediction);
/* A table. False: out of memory. */
bool plan_bound_print(const struct predictions *predictions, bool only_best);

#endif
