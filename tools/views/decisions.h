/* The core's decisions in a trace, counted by reason, for `sluice trace info`. */
#ifndef SLUICE_TOOL_DECISIONS_H
#define SLUICE_TOOL_DECISIONS_H

#include "tools/model/model.h"
#include "tools/text/json.h"

/* Prints nothing if there are none. */
void print_decisions(const struct model *model);
void json_decisions(struct json *json, const struct model *model);

#endif
