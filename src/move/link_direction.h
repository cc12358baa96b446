/* One direction of the link: a lock, and movements numbered in the order in which they were decided.
 *
 * A movement is enqueued on the direction's stream, behind what it waits for (enqueued.h), or carried out by
 * a mover (movers.h), a thread that makes the call when nothing is left to wait for. Movers work side by
 * side, so movements may end in another order than that of their numbers. Whoever waits for movement s waits
 * for all movements up to s; whoever only needs the room that they leave waits until movers have carried out
 * as many bytes, whichever these are.
 */
#ifndef SLUICE_LINK_DIRECTION_H
#define SLUICE_LINK_DIRECTION_H

#include <stdatomic.h>

#include "base/locks.h"
#include "device/backend.h"
#include "move/enqueued.h"

/* Movements that are remembered. A wait for an older one waits for the oldest of these. */
#define SL_MOVEMENTS_KEPT SL_EVENTS_MOST
/* A mover's event stands for its movement until so many later ones have been decided. */
#define SL_MOVER_EVENTS_KEPT 32

extern unsigned sl_link_direction_patience_s; /* tests change it */

struct sl_transfers;

struct sl_kept_movement {
    uint64_t landed;                /* its number, once it is enqueued or over */
    uint64_t bytes;                 /* that a mover was given; guarded by `landing` */
    _Atomic uint64_t enqueued;      /* the last enqueued movement up to here */
    _Atomic uint64_t carried_bytes; /* of all that movers were given up to here */
    _Atomic(sl_event_handle) event; /* a mover's, recorded behind it; NULL: it is enqueued */
};

/* One that a mover has carried out. */
struct sl_landing {
    uint64_t bytes; /* of all that have landed up to this one */
    sl_event_handle event;
};

struct sl_link_direction {
    struct sl_lock lock;
    uint32_t number; /* among all that there ever were */
    struct sl_enqueued enqueued;
    _Atomic uint64_t given;        /* the last movement that was decided */
    _Atomic uint64_t issued;       /* all up to here are enqueued, or over */
    _Atomic uint64_t done;         /* all up to here are known to be over */
    struct sl_lock landing;        /* guards `landed`, and `issued` and `done` against going back */
    struct sl_kept_movement *kept; /* movement s, at s % SL_MOVEMENTS_KEPT */
    struct sl_landing
        landings[2 * SL_MOVER_EVENTS_KEPT]; /* the last ones, in their order; guarded by `landing` */
    uint64_t landing_count;                 /* so far */
    _Atomic uint64_t landed_bytes;
    _Atomic uint32_t news; /* counts movements that landed while somebody waited; a futex word */
    _Atomic uint32_t waiters;
    _Atomic bool ended;             /* what has not landed may never do: movers have ended, or are stuck */
    struct sl_transfers *transfers; /* NULL: movements are not timed */
};

enum sl_status sl_link_direction_init(struct sl_link_direction *direction, const struct sl_backend *backend,
                                      sl_stream stream, enum sl_lock_rank rank);
/* Accepts a zeroed or half-built one. `backend`: NULL if the device is gone. */
void sl_link_direction_close(struct sl_link_direction *direction, const struct sl_backend *backend);

/* Numbers the next movement, which was enqueued on the direction's stream: see sl_enqueued_submitted. Caller
 * holds the lock. */
uint64_t sl_link_direction_submitted(struct sl_link_direction *direction, const struct sl_backend *backend,
                                     bool ask, enum sl_status *status);
/* Numbers the next movement, `bytes` that a mover is to carry out. Caller holds the lock. */
uint64_t sl_link_direction_claim(struct sl_link_direction *direction, uint64_t bytes);
/* A mover has carried it out. `event`: recorded behind it on the mover's stream, and waited
 * for. Any thread, with any locks. */
void sl_link_direction_landed(struct sl_link_direction *direction, uint64_t sequence, sl_event_handle event);
/* Nobody waits for movers any more. */
void sl_link_direction_end(struct sl_link_direction *direction);

/* Whether the number was given: a chunk's record has it before that. Any thread. */
static inline bool sl_link_direction_is_given(const struct sl_link_direction *direction, uint64_t sequence)
{
    return sequence <= atomic_load_explicit(&direction->given, memory_order_acquire);
}
/* Whether the movement and all before it are enqueued or over. Any thread. */
static inline bool sl_link_direction_has_landed(const struct sl_link_direction *direction, uint64_t sequence)
{
    return sequence <= atomic_load(&direction->issued);
}

/* Whether as many bytes have landed as movers were given up to the movement. Any thread. */
bool sl_link_direction_has_room(const struct sl_link_direction *direction, uint64_t sequence);

/* The event of a movement that landed, or one that covers later movements, too. Any thread. */
sl_event_handle sl_link_direction_event(const struct sl_link_direction *direction, uint64_t sequence);
/* Whether the movement still has its own event. */
bool sl_link_direction_has_event(const struct sl_link_direction *direction, uint64_t sequence);

/* Whether the movement is over. Asks the driver at most once. Any thread. */
bool sl_link_direction_ask_done(struct sl_link_direction *direction, const struct sl_backend *backend,
                                uint64_t sequence);
/* Makes the stream, or NULL: the host, wait for the movement. The host waits until movers have carried out
 * what they are to, and for a number that was published ahead of its movement. A movement of theirs may wait
 * for a kernel that waits for what the program does next, so nobody waits for them longer than a minute,
 * or ever again; for what is enqueued the stream waits in any case. SL_ERR_DRIVER: the movement may be ahead.
 * Any thread. */
enum sl_status sl_link_direction_wait(struct sl_link_direction *direction, const struct sl_backend *backend,
                                      uint64_t sequence, const sl_stream *stream);
/* Makes the host wait for as much room as there is behind movement `sequence`. SL_ERR_DRIVER: it may never be
 * there. Any thread. */
enum sl_status sl_link_direction_wait_room(struct sl_link_direction *direction,
                                           const struct sl_backend *backend, uint64_t sequence);
/* Whether that is known without asking. */
static inline bool sl_link_direction_known_done(const struct sl_link_direction *direction, uint64_t sequence)
{
    return sequence <= atomic_load_explicit(&direction->done, memory_order_acquire);
}
/* The host knows that all movements up to this one are over. Nothing is learned from the oldest one that is
 * remembered, or from a forgotten one. Any thread. */
void sl_link_direction_set_done(struct sl_link_direction *direction, uint64_t sequence);

#endif
