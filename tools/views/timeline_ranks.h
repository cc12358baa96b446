/* `sluice trace timeline` of several files: the ranks of a job on one axis. */
#ifndef SLUICE_TOOL_TIMELINE_RANKS_H
#define SLUICE_TOOL_TIMELINE_RANKS_H

#include "tools/text/json.h"
#include "tools/views/canvas.h"
#include "tools/views/job.h"

/* Draws the job's traces, which job_open has read. `step`: that training step of each rank, from 1; 0: the
 * default one, or everything if a rank has no steps. Returns the exit status. */
int timeline_ranks(const struct job *job, const struct canvas *canvas, uint64_t step, bool json);

/* The JSON object of that, with a figure for each of `columns` intervals, 1 to TIMELINE_MOST. `key`: as for
 * json_object. */
int timeline_ranks_json(struct json *json, const char *key, const struct job *job, uint64_t step,
                        uint32_t columns);

#endif
