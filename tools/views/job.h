/* The traces of the ranks of one job, as commands open them. */
#ifndef SLUICE_TOOL_JOB_H
#define SLUICE_TOOL_JOB_H

#include "tools/analyses/clocks.h"

/* Zero it, set `command`, `paths` and `count`. */
struct job {
    const char *command; /* for messages: "trace ranks" */
    char **paths;        /* job_open puts them in the order of the ranks */
    size_t count;
    uint32_t *numbers;     /* of each: the rank's, as its launcher said; where not all did, 0, 1, ... */
    struct model **models; /* of each path */
    size_t opened;
    struct meetings meetings;
    struct clock *clocks; /* of each rank */
};

/* Reads all traces, finds what they have in common, and how their clocks stand. On EXIT_OK all members are
 * set; otherwise the reason is on stderr. Either way the command ends with job_close. */
int job_open(struct job *job);

/* Says on stderr, a line for each, what keeps the traces from being compared: they are not of one job, or not
 * of one job to their ends. EXIT_OK if nothing does. */
int job_check(const struct job *job);

/* Prints a line that says how well the ranks' clocks are lined up. */
void job_print_clocks(const struct job *job);

/* Releases all and says on stderr what is wrong with the files. Returns the exit status: `status`, unless
 * that is EXIT_OK and a file is damaged. */
int job_close(struct job *job, int status);

static inline const struct model *job_model(const struct job *job, size_t rank)
{
    return job->models[rank];
}

#endif
