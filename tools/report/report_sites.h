/* The allocation sites of a trace for the report: as `sluice trace sites --json` prints them, but each frame
 * is written once, and sites that hold little are left out of a long list. */
#ifndef SLUICE_TOOL_REPORT_SITES_H
#define SLUICE_TOOL_REPORT_SITES_H

#include "tools/model/site_title.h"
#include "tools/text/json.h"

/* False: out of memory. */
bool report_sites(struct json *json, const struct model *model, struct site_titles *titles);

#endif
