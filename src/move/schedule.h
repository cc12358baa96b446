/* The schedule: a plan being carried out, and who issues what.
 *
 * Actions of one direction are issued in plan order under that direction's lock, by the daemon's threads or
 * by a launching thread. A launch first issues whatever its own chunks need that nobody issued yet, so it
 * never waits for the daemon; in inline mode it issues everything that may be once it was submitted. A new
 * plan replaces the old one under both locks, which drops what was not issued.
 *
 * Whatever a plan believes, no step is issued that would exceed its budget: then the launch that needs the
 * chunk finds it lacking.
 */
#ifndef SLUICE_SCHEDULE_H
#define SLUICE_SCHEDULE_H

#include "move/fences.h"
#include "move/planned_uses.h"
#include "plan/plan.h"

struct sl_step {
    sl_chunk chunk;
    uint32_t waits_for; /* in: evictions that must be issued before */
    sl_tick after, deadline;
    uint64_t bytes;
    bool dead; /* no content is to be copied: what there was died after launch `after` at the latest */
    bool own;  /* out: whoever uses the chunk is of the same stream history as launch `after` */
};

/* A plan, split by direction; in plan order. */
struct sl_steps {
    struct sl_step *out, *in;
    uint32_t out_count, in_count;
    uint32_t *ready_out, *ready_in,
        *need_in; /* by tick - first_tick: steps that may be issued, or must be, before that launch */
    struct sl_step *out_space, *in_space; /* what `out` and `in` lie in, with room in front of them */
    sl_tick first_tick;                   /* that is planned */
    size_t window;                        /* launches that the tables cover */
    uint8_t *histories;                   /* of these launches; NULL: their order is certain */
    sl_symbol *symbols;                   /* what these launches are; NULL: not known */
    struct sl_planned_uses uses;          /* of chunks by these launches, where their order is certain */
    size_t serve;                         /* of these, to be carried out before the next plan begins */
    uint64_t budget_bytes;
};

struct sl_schedule {
    struct sl_migrator *migrator;
    _Atomic bool active;
    _Atomic uint64_t generation;
    _Atomic sl_tick begun;     /* the last launch that was begun by a plan */
    _Atomic sl_tick submitted; /* every launch up to this tick was given to the driver */
    sl_tick end_tick;          /* launches before it are served; then plan again */
    sl_tick begun_at;          /* the launch that was being begun when the plan took over; or 0 */
    uint32_t taken_over;       /* evictions in front that make the chunks be where the plan has them */
    struct sl_steps steps;
    _Atomic uint32_t next_out, next_in;

    struct sl_fences fences;
};

enum sl_status sl_schedule_init(struct sl_schedule *schedule, struct sl_migrator *migrator);
void sl_schedule_close(struct sl_schedule *schedule, bool device_gone); /* accepts a half-built one */

/* Drops what was not issued, but for a step that somebody is about to issue. Caller holds the order lock. */
void sl_schedule_cancel(struct sl_schedule *schedule);
/* The same, and frees it. Caller holds the order lock and both directions' locks. */
void sl_schedule_clear(struct sl_schedule *schedule);

/* Steps that a launch issues. */
struct sl_schedule_batch {
    uint64_t generation;
    uint32_t needed_in;        /* fetches up to here, and the evictions that they wait for, first; */
    uint32_t out, in;          /* then these */
    bool any;                  /* there may be one that nobody issued */
    uint32_t next_in, near_in; /* behind a launch: fetches up to here are needed so soon that the daemon may
                                  come too late, the first of them by the next launches; 0: none */
    bool waited_for;           /* that the launch began is what a step waited for: the daemon is to look */
};
/* Launch `tick` is being begun: what its own chunks need, or `everything` that may be issued. Caller holds
 * the order lock. */
void sl_schedule_begin(struct sl_schedule *schedule, sl_tick tick, bool everything,
                       struct sl_schedule_batch *batch);
/* All that may be issued behind what was submitted so far, up to what the program has yet to free. Caller
 * holds the order lock. */
void sl_schedule_go_on(struct sl_schedule *schedule, struct sl_schedule_batch *batch);
/* Of these, what one of the next SL_SCHEDULE_NEAR launches needs: up to batch->near_in. A thread of the
 * daemon takes some 50 us to wake up, and then two chunks have to cross the link, one out and one in: short
 * launches are over before. Dead chunks that would be copied, because their frees lie behind a collective
 * that is not over, are left to the daemon until one of the next SL_SCHEDULE_NEXT needs their room. The order
 * lock must not be held. */
#define SL_SCHEDULE_NEXT 4
#define SL_SCHEDULE_NEAR 32
void sl_schedule_issue_near(struct sl_schedule *schedule, const struct sl_schedule_batch *batch);
/* The program freed memory. The same as sl_schedule_go_on, if the next eviction waited for that; or nothing.
 * Caller holds the order lock. */
void sl_schedule_freed(struct sl_schedule *schedule, struct sl_schedule_batch *batch);
/* Issues it, as far as the plan is still the same: enqueues. The order lock must not be held. */
void sl_schedule_issue(struct sl_schedule *schedule, const struct sl_schedule_batch *batch);

/* The union of the streams that use the chunks that leave after `tick`; 0: none leave. */
uint64_t sl_schedule_leaving_users(const struct sl_schedule *schedule, sl_tick tick);
/* A fence that their release will wait for, or NULL: the caller records it and puts it behind `tick` before
 * it calls sl_schedule_submitted(tick). */
struct sl_fence *sl_schedule_fence(struct sl_schedule *schedule);
void sl_schedule_submitted(struct sl_schedule *schedule, sl_tick tick);

/* For the daemon's threads. `out`: which direction. Looks at the next step that may be issued now; false if
 * there is none. */
struct sl_pending {
    uint64_t generation;
    uint32_t index;
    sl_chunk chunk;
    uint64_t out_sequence;        /* in: what must have left before; 0: nothing */
    const struct sl_fence *fence; /* out */
};
bool sl_schedule_peek(struct sl_schedule *schedule, bool out, struct sl_pending *pending);
/* Whether the chunk, which is dead, would have to be copied because the point of a free is not recorded yet
 * (frees.h): so its step waits. It is recorded at the program's next launch at the latest. */
bool sl_schedule_is_open(const struct sl_schedule *schedule, sl_chunk chunk);
/* Issues the step if nobody did and the plan is still the same. */
void sl_schedule_issue_pending(struct sl_schedule *schedule, bool out, const struct sl_pending *pending);

#endif
