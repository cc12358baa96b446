/* `sluice trace info` for several files: the ranks of a job, one per row. */
#ifndef SLUICE_TOOL_INFO_RANKS_H
#define SLUICE_TOOL_INFO_RANKS_H

#include "tools/text/json.h"
#include "tools/views/job.h"

/* Prints the info of the job's traces, which job_open has read. Returns the exit status. */
int info_ranks(const struct job *job, bool json);

/* The JSON object of that. `key`: as for json_object. False: out of memory. */
bool info_ranks_json(struct json *json, const char *key, const struct job *job);

#endif
