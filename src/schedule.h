/* The schedule: a plan being carried out, and who issues what.
 *
 * Actions of one direction are issued in plan order under that direction's lock, by the daemon's threads or
 * by a launching thread. A launch first issues whatever its own chunks need that nobody issued yet, so it
 * never waits for the daemon; in inline mode it issues everything that is due. A new plan replaces the old
 * one under both locks, which drops what was not issued.
 */
#ifndef SLUICE_SCHEDULE_H
#define SLUICE_SCHEDULE_H

#include "mover.h"
#include "plan.h"

#define SL_FENCES 64

struct sl_schedule {
    struct sl_mover *mover;
    _Atomic bool active;
    _Atomic uint64_t generation;
    _Atomic sl_tick submitted;    /* every launch up to this tick was given to the driver */
    sl_tick first_tick, end_tick; /* launches in [first_tick, end_tick) are served; then plan again */
    size_t window;                /* launches that the tables cover, at least end_tick - first_tick */

    /* The plan, split by direction; order is plan order. */
    struct sl_step {
        sl_chunk chunk;
        sl_tick after;
        uint64_t bytes;
        uint32_t waits_for; /* in: releases that must be issued before; out: its fence */
    } * out_steps, *in_steps;
    uint32_t out_count, in_count;
    uint64_t *out_sequences; /* of issued releases */
    uint64_t base_out;       /* releases of earlier plans end before any fetch of this one */
    uint32_t *due_out, *due_in,
        *need_in; /* by tick - first_tick: steps that are due, or needed, before that launch */
    _Atomic uint32_t next_out, next_in;

    struct sl_fence fences[SL_FENCES];
};

enum sl_status sl_schedule_init(struct sl_schedule *schedule, struct sl_mover *mover);
void sl_schedule_close(struct sl_schedule *schedule, bool device_gone); /* accepts a half-built one */

/* Replaces what there was by `plan` for the launches from first_tick on, of which the first `serve` are
 * carried out. `chunk_bytes` as given to the planner. Caller holds the order lock and both directions' locks.
 */
enum sl_status sl_schedule_install(struct sl_schedule *schedule, const struct sl_plan *plan,
                                   sl_tick first_tick, size_t window, size_t serve,
                                   const uint64_t *chunk_bytes);
/* Drops what was not issued. Caller holds the order lock and both directions' locks. */
void sl_schedule_clear(struct sl_schedule *schedule);

/* Issues, for launch `tick`: all that is due (`everything`), or what its own chunks need. Caller holds the
 * order lock. */
void sl_schedule_issue(struct sl_schedule *schedule, sl_tick tick, bool everything);

/* The union of the streams that use the chunks that leave after `tick`; 0: none leave. */
uint64_t sl_schedule_leaving_users(const struct sl_schedule *schedule, sl_tick tick);
/* The fence that their release will wait for; the caller records it before it calls
 * sl_schedule_submitted(tick). */
struct sl_fence *sl_schedule_fence(struct sl_schedule *schedule, sl_tick tick);
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
/* Issues the step if nobody did and the plan is still the same. */
void sl_schedule_issue_pending(struct sl_schedule *schedule, bool out, const struct sl_pending *pending);

#endif
