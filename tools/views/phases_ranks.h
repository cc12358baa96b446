/* `sluice trace phases` of several files: the phases of a job's ranks beside each other. */
#ifndef SLUICE_TOOL_PHASES_RANKS_H
#define SLUICE_TOOL_PHASES_RANKS_H

#include "tools/views/job.h"

/* Prints what the job's traces say, which job_open has read. `step`: of each rank only that step of training,
 * from 1; 0: everything. Returns the exit status. */
int phases_ranks(const struct job *job, uint64_t step, bool json);

#endif
