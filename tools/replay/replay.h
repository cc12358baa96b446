/* Replays a trace through sluice's own core, on a device that is a clock (backend_sim.h), to predict the cost
 * of a budget, a chunk size, a policy or a link. There is no second model of the core.
 *
 * Allocations, frees, launches and waits come in the order of the trace. A launch takes its measured time, or
 * the mean of its shape. Two things are not in the trace: the host's time between calls, and dependencies
 * between streams. Each launch is assumed to depend on all launches before it; for the ranks of a job, see
 * replay_order.h.
 *
 * The ranks of a job are replayed together, each in a process of its own. They meet at collectives
 * (replay_meetings.h): a collective waits, on the simulated clock, until the last rank has reached it. */
#ifndef SLUICE_TOOL_REPLAY_H
#define SLUICE_TOOL_REPLAY_H

#include <stdio.h>

#include "tools/phases/classes.h"
#include "tools/sim/sim_driver.h"
#include "tools/model/model.h"
#include "tools/replay/replay_meetings.h"

enum {
#ifdef SLUICE_TEST_HOOKS
    REPLAY_ITERATIONS = 200,
#else
    REPLAY_ITERATIONS = 24, /* maximum number of simulated iterations */
#endif
    REPLAY_LEARNING = 3, /* the first iterations, in which the core learns the program */
};

/* The replayed part of a trace, the same for all settings. */
struct replay_program {
    const struct model *model;
    const char *name;  /* of the program */
    uint32_t launches; /* counted from the first one */
    uint32_t
        *borders; /* launches at which iterations begin, and the end of the last one; within `launches` */
    uint32_t border_count;
    bool steps; /* iterations are training steps, found as by trace phases; else the core's own iterations */
    bool alike; /* the last ones in the trace are, as training_find tells */
    bool whole; /* it reaches the end of the trace */
    uint64_t host_ns;            /* that the host takes for a launch; 0: not measured */
    uint64_t *shape_ns;          /* time of the launches of each shape */
    uint8_t *class_of_slot;      /* enum memory_class of most of its bytes */
    uint64_t lost;               /* records lost among the launches */
    uint64_t guessed;            /* launches without a measured time */
    uint64_t guessed_ns, all_ns; /* what these take, and all launches together */
    uint64_t shortest_ns;        /* of all times that were measured */
    double bytes_per_ns;         /* of the device's memory: what the fastest launches reach; 0: not known */
    struct replay_death {
        uint64_t time_ns;
        uint32_t life;
    } * deaths; /* by time */
    size_t death_count;
    uint64_t peak_bytes; /* of the program's allocations */
};

/* Above this share of the time, guesses are said in the first line. */
enum { REPLAY_GUESSED_PERCENT = 10 };

/* One program alone, or the ranks of a job. */
struct replay_job {
    const struct replay_program *ranks;
    size_t count;
    const struct replay_meetings *meetings; /* NULL: a single program */
};

/* False: out of memory; then pass *out to replay_free. */
bool replay_prepare(const struct model *model, struct replay_program *out);

/* The same for the ranks of a job. Their iterations begin and end after the same meetings on all of them.
 * Without common iterations, border_count is 0. */
bool replay_prepare_ranks(const struct model *const *models, size_t count,
                          const struct replay_meetings *meetings, struct replay_program *out);
void replay_free(struct replay_program *program);

/* Why the figures of a step may be wrong, in a line; NULL: they are sound. */
const char *replay_doubt(const struct replay_program *program);

struct sl_sim_meetings; /* sim/sim_clock.h */

struct replay_setting {
    uint64_t budget_bytes; /* 0: as much as needed */
    uint64_t chunk_bytes;
    const char *policy;  /* a value of SLUICE_POLICY */
    const char *backing; /* of SLUICE_BACKING; or NULL */
    uint64_t in_bytes_per_s, out_bytes_per_s;
    struct sl_sim_driver driver;
    uint64_t transfer_ns;         /* fixed cost of a movement */
    unsigned plan_attempts;       /* SLUICE_PLAN_ATTEMPTS */
    bool plans_beside;            /* plans are begun as early as with SLUICE_DAEMON=thread */
    unsigned movers;              /* SLUICE_MOVERS, with plans_beside; 0: not given */
    bool rereads;                 /* launches read in place as often as their time allows, not once */
    bool meets_over_link;         /* data between ranks uses the link to the host */
    FILE *sequence;               /* receives the last iterations, see sequence.h; or NULL */
    uint32_t sequence_iterations; /* number of iterations; all of them if there are fewer */
    bool find_least;              /* compute least_in_bytes of the result */
};

/* The driver as it is replayed. With plans beside the launches, threads of sluice move memory side by side:
 * so many movers each way to the host, and half as many to the device; one each if it is not said. */
struct sl_sim_driver replay_driver(const struct replay_setting *setting);

struct replay_iteration {
    uint64_t took_ns, stall_ns;
    uint64_t longer_ns; /* added time of launches that used memory remotely or shared the link */
    uint64_t waited_ns; /* at meetings, for other ranks */
    uint64_t moving_in_ns, moving_out_ns; /* of threads in calls that move memory, together */
    uint64_t bytes_in, bytes_out, remote_bytes_used;
    uint64_t launches, misses, missed; /* missed: launches with a demand miss */
};

struct replay_result {
    enum sl_status status;
    uint64_t need_bytes;        /* most bytes of chunks with content */
    uint64_t refused;           /* allocations that could not be replayed */
    uint64_t oversize;          /* launches whose own chunks exceed the budget */
    bool sizes_vary;            /* of tensors, from step to step */
    uint64_t left[CLASS_COUNT]; /* bytes evicted with a copy in the last iteration, by class */
    uint64_t least_in_bytes;    /* that have to come to the device in the last iteration, see floor.h */
    uint64_t missed_meetings;   /* of the job: meetings that began although no further rank could come */
    uint32_t iteration_count;
    double borders_ns[REPLAY_ITERATIONS + 1]; /* start of each, and end of the last one */
    struct replay_iteration iterations[REPLAY_ITERATIONS];
    struct replay_iteration steady; /* the median by time of the last ones; zeros if there is none */
};

/* The least budget possible, for a replay as for a run. */
uint64_t replay_least_budget(void);

/* The chunk size of a run with this budget whose SLUICE_CHUNK is not set. */
uint64_t replay_automatic_chunk(uint64_t budget_bytes);

/* Replays in this process, which is possible only once: the core cannot start twice. `meetings`, which may be
 * NULL, decides when the ranks of the job meet; this program is rank number `rank`. */
void replay_run(const struct replay_job *job, size_t rank, const struct replay_setting *setting,
                const struct sl_sim_meetings *meetings, struct replay_result *result);

/* Replays each rank of a job in a process of its own and waits for them. One result for each rank. */
void replay_run_ranks(const struct replay_job *job, const struct replay_setting *setting,
                      struct replay_result *results);

/* Combines the results of a job's ranks: an iteration ends when the last rank has ended it; all other figures
 * are the maximum over the ranks. */
void replay_sum_up(const struct replay_result *of_rank, size_t count, struct replay_result *out);

/* Replays many settings, as many at a time as there are processors. `results` has one entry for each setting
 * and rank, grouped by setting. Status SL_ERR_IO: its process failed. False: no process could be started; the
 * reason is on stderr. */
bool replay_all(const struct replay_job *job, const struct replay_setting *settings, size_t count,
                struct replay_result *results);

#endif
