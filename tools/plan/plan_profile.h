/* Writes the best configuration for the program's next run to a profile (SLUICE_PROFILE). */
#ifndef SLUICE_TOOL_PLAN_PROFILE_H
#define SLUICE_TOOL_PLAN_PROFILE_H

#include "tools/plan/configurations.h"

/* Sets budget and chunk size in the profile at `path` and keeps what a run wrote to it. If there is no
 * profile, makes one for the trace's program with nothing else in it. Returns the exit status; errors are
 * printed on stderr. */
int plan_write_profile(const struct model *model, const struct prediction *best, const char *path);

#endif
