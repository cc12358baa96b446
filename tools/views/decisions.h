/* The core's decisions in a trace, counted by their reasons, as `sluice trace info` shows them. */
#ifndef SLUICE_TOOL_DECISIONS_H
#define SLUICE_TOOL_DECISIONS_H

#include "tools/model/model.h"
#include "tools/text/json.h"

/* Prints nothing where there are none. */
void print_decisions(const struct model *model);
void json_decisions(struct json *json, const struct model *model);

#endif
