/* `sluice trace info` of several files: the ranks of a job, a row each. */
#ifndef SLUICE_TOOL_INFO_RANKS_H
#define SLUICE_TOOL_INFO_RANKS_H

#include "tools/views/job.h"

/* Prints what the job's traces say, which job_open has read. Returns the exit status. */
int info_ranks(const struct job *job, bool json);

#endif
