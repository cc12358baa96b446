/* The traces of the ranks of one job, opened for commands. */
#ifndef SLUICE_TOOL_JOB_H
#define SLUICE_TOOL_JOB_H

#include "tools/analyses/clocks.h"

/* Zero it, set `command`, `paths` and `count`. */
struct job {
    const char *command; /* for messages: "trace ranks" */
    char **paths;        /* job_open sorts them by rank */
    size_t count;
    uint32_t
        *numbers; /* of each trace: its rank from the launcher or, unless all traces have one, 0, 1, ... */
    struct model **models; /* of each path */
    size_t opened;
    struct meetings meetings;
    struct clock *clocks; /* of each rank */
};

/* Reads all traces, finds their common collectives and the relation of their clocks. On EXIT_OK all members
 * are set; otherwise the reason is on stderr. In both cases the command ends with job_close. */
int job_open(struct job *job);

/* Prints on stderr, one per line, what prevents a comparison: the traces do not belong to one job, or only up
 * to some point. Returns EXIT_OK if nothing does. */
int job_check(const struct job *job);

/* Prints how well the ranks' clocks are aligned. */
void job_print_clocks(const struct job *job);

/* Frees everything and reports problems of the files on stderr. Returns `status`, unless that is EXIT_OK and
 * a file is damaged. */
int job_close(struct job *job, int status);

static inline const struct model *job_model(const struct job *job, size_t rank)
{
    return job->models[rank];
}

#endif
