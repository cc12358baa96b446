/* The best configuration for the program's next run, in a profile (SLUICE_PROFILE). */
#ifndef SLUICE_TOOL_PLAN_PROFILE_H
#define SLUICE_TOOL_PLAN_PROFILE_H

#include "tools/plan/configurations.h"

/* The profile at `path` says from now on that budget and chunk size; what else a run wrote in it stays. Where
 * there is none, one is made for the program of the trace that says nothing but that. The exit status; what
 * went wrong is said on stderr. */
int plan_write_profile(const struct model *model, const struct prediction *best, const char *path);

#endif
