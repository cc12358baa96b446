/* `sluice trace phases` for several files: the phases of a job's ranks side by side. */
#ifndef SLUICE_TOOL_PHASES_RANKS_H
#define SLUICE_TOOL_PHASES_RANKS_H

#include "tools/text/json.h"
#include "tools/views/job.h"

/* Prints the phases of the job's traces, which job_open has read. `step`: only that training step of each
 * rank, from 1; 0: everything. Returns the exit status. */
int phases_ranks(const struct job *job, uint64_t step, bool json);

/* The JSON object of that. `key`: as for json_object. */
int phases_ranks_json(struct json *json, const char *key, const struct job *job, uint64_t step);

#endif
