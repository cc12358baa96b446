/* Movements that threads of ours carry out: lists of what was decided, one for each direction, and a mover
 * for each thread.
 *
 * A vendor's driver moves memory in the thread that calls, if the stream is idle, and else in one thread of
 * its own for all streams (docs/driver-model.md). So a mover waits on the host for all that its movement
 * waits for, calls on a stream of its own, which is idle, and waits for the end. No lock is held meanwhile.
 * Movements are taken in the order in which they were decided, and wait only for what was decided before, so
 * the oldest one that is not over never waits for another.
 */
#ifndef SLUICE_MOVERS_H
#define SLUICE_MOVERS_H

#include <stdatomic.h>
#include <time.h>

#include "base/locks.h"
#include "device/backend.h"
#include "trace/events.h"

#define SL_MOVERS_MOST 8 /* of each direction: the largest SLUICE_MOVERS */
#define SL_MOVEMENT_USERS 4

struct sl_fence;

/* Events behind which streams are done with a chunk: waited for only to save time. They are of a fence, which
 * is not recorded anew until they are let go (fences.h). */
struct sl_users {
    struct sl_fence *fence; /* NULL: let go, or there are none */
    sl_event_handle events[SL_MOVEMENT_USERS];
    uint32_t count;
};

/* A movement that was decided: its chunk's record has changed already. */
struct sl_movement {
    struct sl_movement *next;
    bool out;
    uint64_t sequence, address, bytes;
    uint64_t other; /* movements of the other direction up to here come first */
    uint64_t room;  /* of a fetch: the room behind this eviction comes first */
    struct sl_users users;
    struct sl_event move;  /* its record */
    bool whole;            /* see sl_transfers_end */
    bool timed;            /* the mover's event `begin` is in front of it, and its time is noted */
    uint32_t stands_for;   /* so many movements, whose calls take as long; 0: this is not measured */
    enum sl_status status; /* of the call */
    sl_event_handle event; /* the mover's, behind it */
};

struct sl_movers {
    struct sl_lock lock;
    struct sl_movement *first[2], *last[2], *spare; /* by whether they go out */
    _Atomic uint32_t news;                          /* counts wake-ups; the futex word */
    _Atomic uint32_t sleepers;
    _Atomic bool off; /* they can do no more: movements are enqueued from now on */
};

enum sl_status sl_movers_new(struct sl_movers **out);
void sl_movers_delete(struct sl_movers *movers); /* accepts NULL */

/* A zeroed movement to fill in and to give to sl_movers_add; NULL: no memory. Thread-safe. */
struct sl_movement *sl_movers_make(struct sl_movers *movers);
/* Wakes the movers. Caller holds the direction's lock, so that movements are in the order of their numbers.
 */
void sl_movers_add(struct sl_movers *movers, struct sl_movement *movement);
/* The direction's next movement, which the caller carries out; NULL: there is none. */
struct sl_movement *sl_movers_take(struct sl_movers *movers, bool out);
/* The movement is over, or was not needed. */
void sl_movers_give(struct sl_movers *movers, struct sl_movement *movement);

/* Wakes threads that sleep. Makes a system call only if there are any. */
void sl_movers_wake(struct sl_movers *movers);
/* Sleeps unless there is other news than `seen`. `most`: the longest time; NULL: no limit. */
void sl_movers_sleep(struct sl_movers *movers, uint32_t seen, const struct timespec *most);

/* Of one thread. */
struct sl_mover {
    sl_stream stream;
    sl_event_handle *events; /* of its last movements */
    sl_event_handle begin;   /* of one that is timed; NULL: not made yet */
    uint64_t count;          /* movements so far */
};

enum sl_status sl_mover_open(struct sl_mover *mover, const struct sl_backend *backend);
/* Accepts a half-built one. `backend`: NULL if the device is gone. */
void sl_mover_close(struct sl_mover *mover, const struct sl_backend *backend);
/* The event for the mover's next movement. */
sl_event_handle sl_mover_event(struct sl_mover *mover);

#endif
