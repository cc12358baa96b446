/* The traces of a program, or of the ranks of a job, prepared for replays, and the speed of their link. */
#ifndef SLUICE_TOOL_PLAN_JOB_H
#define SLUICE_TOOL_PLAN_JOB_H

#include "tools/model/trace_open.h"
#include "tools/plan/configurations.h"

enum { PLAN_ATTEMPTS = 8 };

enum plan_peers { PLAN_PEERS_AUTO, PLAN_PEERS_LINK, PLAN_PEERS_OWN };

/* Whether traces can be replayed, or why not. */
enum plan_ready { PLAN_READY, PLAN_NO_MEMORY, PLAN_NOT_ONE_JOB, PLAN_NO_ITERATION };

/* Prepares the replay of `count` traces in zeroed `programs` and *meetings, which the caller frees in any
 * case. Precondition: count <= REPLAY_RANKS. */
enum plan_ready plan_job_prepare(const struct model *const *models, size_t count,
                                 struct replay_meetings *meetings, struct replay_program *programs);

struct plan_job {
    char *const *paths;
    struct model **models;
    struct replay_program *programs;
    size_t opened, count;
    struct replay_meetings meetings;
    struct replay_job job;
    struct program_name name;
};

/* Reads the traces and prepares their replay. `who`: the command, for messages. EXIT_OK: every trace has a
 * complete iteration. Otherwise the reason is on stderr. In either case pass *out to plan_job_close. */
int plan_job_open(const char *who, char *const *paths, size_t count, struct plan_job *out);

/* The exit status after the traces were used; prints their problems on stderr. */
int plan_job_end(const struct plan_job *job);
void plan_job_close(struct plan_job *job); /* accepts a zeroed one */

/* Most bytes of allocations on one rank. */
uint64_t plan_job_peak(const struct replay_job *job);

/* The measured speed on the slowest rank, which is that rank's share of the link; if there is none, the
 * assumed speed divided by `sharers`. */
struct plan_link plan_job_link(const struct replay_job *job, uint64_t sharers);

/* Replaces the speeds that `given` has by equal parts of those, one for each of `sharers`. */
void plan_set_link(struct plan_link *link, const struct plan_link *given, uint64_t sharers);

/* Whether the ranks' collectives use this link. They do, unless a long collective was faster than it. */
bool plan_job_meets_over(const struct plan_link *link, const struct replay_meetings *meetings,
                         enum plan_peers peers);

#endif
