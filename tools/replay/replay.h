/* A trace replayed through the very core that would run in the program, on a device that is a clock
 * (backend_sim.h): what a budget, a chunk size, a policy, a link would cost. There is no second model of what
 * the core does.
 *
 * Allocations, frees, launches and waits come in the trace's order. A launch takes as long as it was measured
 * to, or as launches of its shape were on average. What the trace does not know is not there: host time
 * between calls, and on which launches of other streams one depends: each is taken to depend on all before
 * it, or, where the ranks of a job are replayed together, see replay_order.h.
 *
 * The ranks of a job are replayed together, each in a process of its own, as they meet at collectives
 * (replay_meetings.h): on a rank a collective waits, on the simulated clock, until the last one has come to
 * it.
 */
#ifndef SLUICE_TOOL_REPLAY_H
#define SLUICE_TOOL_REPLAY_H

#include <stdio.h>

#include "tools/phases/classes.h"
#include "tools/model/model.h"
#include "tools/replay/replay_meetings.h"

enum {
#ifdef SLUICE_TEST_HOOKS
    REPLAY_ITERATIONS = 200,
#else
    REPLAY_ITERATIONS = 24, /* that are simulated, at most */
#endif
};

/* The part of a trace that is replayed, the same for all settings. */
struct replay_program {
    const struct model *model;
    const char *name;  /* of the program */
    uint32_t launches; /* from the first one on */
    uint32_t *borders; /* launches at which iterations begin, and the end of the last; within `launches` */
    uint32_t border_count;
    bool steps; /* iterations are steps of training, found as trace phases does; else the core's own */
    bool whole; /* to the trace's end */
    uint64_t *shape_ns;     /* how long launches of each shape take */
    uint8_t *class_of_slot; /* enum memory_class of most of it */
    uint64_t lost;          /* records, among the launches */
    uint64_t guessed;       /* launches for which no time was measured */
    struct replay_death {
        uint64_t time_ns;
        uint32_t life;
    } * deaths; /* in the order of time */
    size_t death_count;
    uint64_t peak_bytes; /* of the program's allocations */
};

/* What is replayed: one program alone, or the ranks of a job. */
struct replay_job {
    const struct replay_program *ranks;
    size_t count;
    const struct replay_meetings *meetings; /* NULL: of one alone */
};

/* False when there is no memory; replay_eviction accepts what is left then. */
bool replay_prepare(const struct model *model, struct replay_program *out);

/* The same for the ranks of a job, whose iterations begin and end behind the same meetings on all of them.
 * Without any that all of them have, border_count is 0. */
bool replay_prepare_ranks(const struct model *const *models, size_t count,
                          const struct replay_meetings *meetings, struct replay_program *out);
void replay_eviction(struct replay_program *program);

struct sl_sim_meetings; /* sim/sim_clock.h */

struct replay_setting {
    uint64_t budget_bytes; /* 0: whatever is needed */
    uint64_t chunk_bytes;
    const char *policy;  /* a value of SLUICE_POLICY */
    const char *backing; /* of SLUICE_BACKING; or NULL */
    uint64_t in_bytes_per_s, out_bytes_per_s;
    unsigned both_percent;
    uint64_t transfer_ns;         /* what a movement costs beside its bytes */
    unsigned plan_attempts;       /* SLUICE_PLAN_ATTEMPTS */
    bool plans_beside;            /* plans are begun as early as under SLUICE_DAEMON=thread */
    bool meets_over_link;         /* what ranks send each other takes the link to the host */
    FILE *sequence;               /* gets the last iterations, see sequence.h; or NULL */
    uint32_t sequence_iterations; /* how many; all of them if there are fewer */
};

struct replay_iteration {
    uint64_t took_ns, stall_ns;
    uint64_t longer_ns; /* launches took longer than alone: they used memory remotely, or shared the link */
    uint64_t waited_ns; /* at meetings, for other ranks */
    uint64_t bytes_in, bytes_out, remote_bytes_used;
    uint64_t launches, misses, missed; /* missed: launches with a demand miss */
};

struct replay_result {
    enum sl_status status;
    uint64_t need_bytes;        /* of chunks with something in them, at the most */
    uint64_t refused;           /* allocations that could not be replayed */
    uint64_t oversize;          /* launches whose own chunks exceed the budget */
    uint64_t left[CLASS_COUNT]; /* bytes that were copied out in the last iteration, by what they are */
    uint64_t missed_meetings;   /* of the job: that began though nobody could come any more */
    uint32_t iteration_count;
    double borders_ns[REPLAY_ITERATIONS + 1]; /* when each began, and when the last one ended */
    struct replay_iteration iterations[REPLAY_ITERATIONS];
    struct replay_iteration steady; /* the median one, by time, of the last ones; zeros if there is none */
};

/* The least budget that a replay can be given, as a run. */
uint64_t replay_least_budget(void);

/* Replays in this process, which can do it once: the core does not start twice. `meetings`, which may be
 * NULL, knows when the ranks of the job meet, whose program number `rank` is. */
void replay_run(const struct replay_job *job, size_t rank, const struct replay_setting *setting,
                const struct sl_sim_meetings *meetings, struct replay_result *result);

/* Replays all ranks of a job in processes of their own, and waits for them: a result for each. */
void replay_run_ranks(const struct replay_job *job, const struct replay_setting *setting,
                      struct replay_result *results);

/* What a job's ranks did, as one: an iteration ends when the last rank has ended it; of everything else the
 * most that any rank has. */
void replay_sum_up(const struct replay_result *of_rank, size_t count, struct replay_result *out);

/* The same for many settings, as many at a time as there are processors. `results` has one for each setting
 * and rank: those of a setting lie together. Status SL_ERR_IO: its process failed. False: no process could be
 * started, which was said on stderr. */
bool replay_all(const struct replay_job *job, const struct replay_setting *settings, size_t count,
                struct replay_result *results);

#endif
