/* The schedule: a plan being carried out.
 *
 * Steps of one direction are issued in plan order under that direction's lock, by the daemon's threads or by
 * a launching thread. A launch first issues the steps that its own chunks need, so it never waits for the
 * daemon; in inline mode it issues all steps that are allowed once it was submitted. A new plan replaces the
 * old one under both locks, which discards the steps that were not issued.
 *
 * A step is never issued if it would exceed the budget, whatever the plan expects. Then the launch that needs
 * the chunk finds it missing.
 */
#ifndef SLUICE_SCHEDULE_H
#define SLUICE_SCHEDULE_H

#include "move/fences.h"
#include "plan/plan.h"

struct sl_step {
    sl_chunk chunk;
    uint32_t waits_for; /* fetches: number of evictions to issue before */
    sl_tick after, deadline;
    uint64_t bytes;
    bool dead; /* copies nothing: the content is dead after launch `after` at the latest */
    bool own;  /* evictions: all users of the chunk are of the same stream history as launch `after` */
};

/* Which launches of a plan use each chunk. When a launch lacks a chunk that the plan did not foresee, the
 * chunk with the furthest next use is evicted. */
struct sl_planned_uses {
    uint32_t *first;  /* by chunk, and one more: its first index in `launch`; NULL: nothing known */
    uint32_t *launch; /* indices in the plan, in order for each chunk */
    size_t chunk_count;
};

/* A plan split by direction, in plan order. */
struct sl_steps {
    struct sl_step *out, *in;
    uint32_t out_count, in_count;
    uint32_t *ready_out, *ready_in,
        *need_in; /* by tick - first_tick: steps that may be issued, or must have been, before that launch */
    struct sl_step *out_space, *in_space; /* the memory of `out` and `in`, with room in front of them */
    sl_tick first_tick;                   /* the first planned launch */
    size_t window;                        /* number of launches that the tables cover */
    uint8_t *in_place;  /* whether these launches use chunks in host memory by choice; NULL: none does */
    uint8_t *histories; /* stream histories of these launches; NULL: their order is certain */
    sl_symbol *symbols; /* symbols of these launches; NULL: unknown */
    struct sl_planned_uses uses; /* of chunks by these launches, if their order is certain */
    size_t serve;                /* launches to carry out before the next plan takes over */
    uint64_t budget_bytes;
};

struct sl_daemon;

struct sl_schedule {
    struct sl_migrator *migrator;
    _Atomic bool active;
    _Atomic uint64_t generation;
    _Atomic sl_tick begun;     /* the newest launch that began while a plan was active */
    _Atomic sl_tick submitted; /* all launches up to this tick were given to the driver */
    sl_tick end_tick;          /* launches before it are served */
    sl_tick begun_at;          /* the launch being begun when the plan took over; or 0 */
    uint32_t taken_over; /* evictions in front of the plan's own, which move chunks to where the plan expects
                            them */
    struct sl_steps steps;
    _Atomic uint32_t next_out, next_in;

    struct sl_fences fences;
    struct sl_daemon *daemon; /* carries it out; NULL: inline mode */
};

enum sl_status sl_schedule_init(struct sl_schedule *schedule, struct sl_migrator *migrator);
void sl_schedule_close(struct sl_schedule *schedule, bool device_gone); /* accepts a half-built one */

/* Discards the steps that were not issued, except one that another thread is about to issue. Caller holds the
 * order lock. */
void sl_schedule_cancel(struct sl_schedule *schedule);
/* The same, and frees the steps. Caller holds the order lock and both directions' locks. */
void sl_schedule_clear(struct sl_schedule *schedule);

/* Steps that a launch issues. */
struct sl_schedule_batch {
    uint64_t generation;
    uint32_t needed_in;        /* first: fetches up to here, and the evictions that they wait for */
    uint32_t out, in;          /* then these */
    bool any;                  /* some of them may not have been issued yet */
    uint32_t next_in, near_in; /* after a launch: fetches up to here are needed too soon for the daemon, by
                                  one of the next SL_SCHEDULE_NEXT or SL_SCHEDULE_NEAR launches; 0: none */
    bool waited_for;           /* a step waited for the launch to begin: wake the daemon */
};
/* Whether the plan has launch `tick`, of this symbol, use in host memory what it lacks. Caller holds the
 * order lock. */
bool sl_schedule_is_in_place(const struct sl_schedule *schedule, sl_tick tick, sl_symbol symbol);

/* Launch `tick` is being begun: the steps that its own chunks need, or with `everything` all that may be
 * issued. Caller holds the order lock. */
void sl_schedule_begin(struct sl_schedule *schedule, sl_tick tick, bool everything,
                       struct sl_schedule_batch *batch);
/* All steps that may be issued after what was submitted so far, up to one that waits for the program to free
 * memory. Caller holds the order lock. */
void sl_schedule_go_on(struct sl_schedule *schedule, struct sl_schedule_batch *batch);
/* Issues those of them that one of the next SL_SCHEDULE_NEAR launches needs, up to batch->near_in. A thread
 * of the daemon takes about 50 us to wake up, and then one chunk has to cross the link in each direction;
 * short launches are over before that. Dead chunks that would be copied, because their frees lie behind a
 * collective that is not over, are left to the daemon until one of the next SL_SCHEDULE_NEXT launches needs
 * their room. The order lock must not be held. */
#define SL_SCHEDULE_NEXT 4
#define SL_SCHEDULE_NEAR 32
void sl_schedule_issue_near(struct sl_schedule *schedule, const struct sl_schedule_batch *batch);
/* The program freed memory: like sl_schedule_go_on if the next eviction waited for that, else nothing. Caller
 * holds the order lock. */
void sl_schedule_freed(struct sl_schedule *schedule, struct sl_schedule_batch *batch);
/* Issues the batch, if the plan has not changed. Enqueues: the order lock must not be held. */
void sl_schedule_issue(struct sl_schedule *schedule, const struct sl_schedule_batch *batch);

/* The union of the streams that use the chunks evicted after `tick`; 0: none. */
uint64_t sl_schedule_leaving_users(const struct sl_schedule *schedule, sl_tick tick);
/* A fence for these evictions, or NULL. The caller records it and puts it behind `tick` before it calls
 * sl_schedule_submitted(tick). */
struct sl_fence *sl_schedule_fence(struct sl_schedule *schedule);
void sl_schedule_submitted(struct sl_schedule *schedule, sl_tick tick);

/* For the daemon's threads. Returns the direction's next step, if it may be issued now; else false. */
struct sl_pending {
    uint64_t generation;
    uint32_t index;
    sl_chunk chunk;
    uint64_t out_sequence; /* fetches: the out movement to wait for; 0: none */
    struct sl_users users; /* of an eviction's chunk; the caller lets them go */
};
bool sl_schedule_peek(struct sl_schedule *schedule, bool out, struct sl_pending *pending);
/* Whether the chunk is dead, but would have to be copied because the point of a free is not recorded yet
 * (frees.h). Then its step waits. The program's next launch records the point at the latest. */
bool sl_schedule_is_open(const struct sl_schedule *schedule, sl_chunk chunk);
/* Issues the step, unless another thread did or the plan has changed. */
void sl_schedule_issue_pending(struct sl_schedule *schedule, bool out, const struct sl_pending *pending);

#endif
