/* `sluice trace timeline` of several files: the ranks of a job on one axis. */
#ifndef SLUICE_TOOL_TIMELINE_RANKS_H
#define SLUICE_TOOL_TIMELINE_RANKS_H

#include "tools/views/canvas.h"
#include "tools/views/job.h"

/* Draws the job's traces, which job_open has read. `step`: that step of training of each rank, from 1; 0: the
 * usual one, or everything where a rank has none. Returns the exit status. */
int timeline_ranks(const struct job *job, const struct canvas *canvas, uint64_t step, bool json);

#endif
