/* Allocation sites as folded stacks, the text that flame graph tools read. */
#ifndef SLUICE_TOOL_SITES_FOLDED_H
#define SLUICE_TOOL_SITES_FOLDED_H

#include <stdio.h>

#include "tools/analyses/sites.h"
#include "tools/model/site_title.h"

/* Writes a line for each site that held memory at the peak of all sites together: its frames, the outermost
 * first, separated by semicolons, then a space and its bytes at that peak. Python's frames stand for the
 * interpreter's. */
void sites_folded(const struct sites *sites, struct site_titles *titles, FILE *to);

#endif
