/* The migrator: the two directions of the link (link_direction.h). Movements of one direction are issued
 * under its lock. Locks are taken in the order out, in.
 *
 * The content of a chunk, and what changes it:
 *
 *                    sl_migrator_fetch (fetch)
 *            HOST ───────────────────────────▶ RESIDENT
 *            │  ▲ ◀─────────────────────────── │  ▲
 *            │  │    sl_migrator_evict (evict)  │  │
 *   sl_arena_give  remote use       sl_arena_give  sl_arena_take
 *            ▼  │                              ▼  │
 *            DEAD ◀─────────────────────────── RESIDENT_DEAD
 *                  sl_migrator_evict (discard)
 *            DEAD ───────────────────────────▶ RESIDENT, or RESIDENT_DEAD where no allocation lies in it
 *                  sl_migrator_fetch (populate)
 *
 * The migrator's changes are compare-and-swaps made before the driver call, under the direction's lock.
 *
 * One rule keeps data: only a free makes content dead, and only what is dead is discarded. A chunk is
 * RESIDENT_DEAD or DEAD only while no allocation lies in it, whatever a plan believed. A discard waits on the
 * device for the points of the frees (frees.h) of all memory in the chunk; whoever gets memory of the chunk
 * waits for the discard (sl_chunk_record.discard_sequence). Evictions copy, and fetches copy back: these are
 * right at any time, whoever uses the chunk meanwhile, and what they wait for is for speed alone.
 */
#ifndef SLUICE_MIGRATOR_H
#define SLUICE_MIGRATOR_H

#include "memory/arena.h"
#include "memory/frees.h"
#include "move/behind.h"
#include "move/link_direction.h"
#include "move/link_speed.h"
#include "move/stats.h"

#define SL_STREAMS 64
#define SL_SHARED_STREAM 63 /* the number of all streams that found none of their own */

/* Events that stand for "all that was submitted to these streams until now". What waits for one does so for
 * speed alone. */
struct sl_fence {
    _Atomic uint64_t streams; /* bit set */
    sl_event_handle events[SL_STREAMS];
    uint64_t behind[SL_STREAMS]; /* which collective each lies behind (behind.h); 0: none */
    sl_tick tick;                /* the launch that it lies behind; see fences.h */
};

#define SL_ASSUMED_LINK_BYTES_PER_S 24000000000u /* until it is measured: what PCIe 4 x16 carries */

struct sl_migrator {
    const struct sl_backend *backend;
    struct sl_arena *arena;
    struct sl_stats *stats;
    struct sl_frees *frees;  /* NULL: nothing is freed while the device may use it */
    _Atomic bool keeps_dead; /* what is dead is copied like all else */
    _Atomic uint32_t held;   /* see sl_migrator_is_held */
    struct sl_behind behind; /* streams that may wait for other ranks: no movement waits for them */
    struct sl_link_direction in, out;
    _Atomic uint64_t occupied_bytes; /* sum of the frames held by chunks, in issue order */
    _Atomic uint64_t *left_bytes;    /* by out movement s and all before it, at s % SL_EVENTS_MOST */
    _Atomic bool failed;             /* the driver refused a movement: move nothing more */
    struct sl_device_clock *clock;   /* or NULL: nothing is timed */
    bool traced;                     /* every movement is timed */
    _Atomic bool wants_anchor;       /* the clock, in front of the next movement */
    struct sl_link link;             /* how fast it was */
    uint64_t link_in_bytes_per_s, link_out_bytes_per_s; /* as last worked out */
    uint64_t assumed_bytes_per_s; /* what both are taken to be until they are measured */
    uint32_t link_sharers;        /* devices at the end of the link, as far as is known */
    uint64_t timed_at;            /* movements that were issued when some were last timed without a trace */
    const _Atomic int *captures;  /* while there are any, there are no questions to the driver */
};

/* `captures`: stream captures under way. */
enum sl_status sl_migrator_init(struct sl_migrator *migrator, const struct sl_backend *backend,
                                struct sl_arena *arena, struct sl_stats *stats, const _Atomic int *captures);
/* From now on movements are timed: all of them for `trace`, or, without one, some. */
void sl_migrator_time(struct sl_migrator *migrator, struct sl_trace *trace);
/* When `event`, which is done, was reached, on the records' clock; 0: not known. */
uint64_t sl_migrator_when(struct sl_migrator *migrator, sl_event_handle event);
/* Keeps that clock right while nothing moves, to be called now and then where there is a trace. Enqueues: the
 * order lock must not be held. */
void sl_migrator_tie_clock(struct sl_migrator *migrator);
/* Tells the trace of the direction's movements that are done. Caller holds its lock. */
void sl_migrator_settle_times(struct sl_migrator *migrator, struct sl_link_direction *direction);
/* Brings up to date what is known of the link's speed (see sl_link_speeds), to be called now and then: where
 * every movement is timed, or some were, or it is time to. Does nothing where somebody moves something. */
void sl_migrator_measure(struct sl_migrator *migrator, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s);
/* So many devices have the link: what it is taken to carry, until it is measured, is this one's part. Caller
 * holds the order lock, or nothing runs yet. */
void sl_migrator_share_link(struct sl_migrator *migrator, uint32_t devices);
void sl_migrator_close(struct sl_migrator *migrator, bool device_gone); /* accepts a half-built one */

/* Whether a stream of the program may wait for something that is not the device's own work, such as a host
 * function. What lies behind it may not come before the program is done with something else, so no movement
 * waits for any stream of the program then. */
static inline bool sl_migrator_is_held(const struct sl_migrator *migrator)
{
    return atomic_load_explicit(&migrator->held, memory_order_acquire) > 0;
}

/* Takes both directions' locks, with at most `tries` looks. Whoever holds the order lock takes them in no
 * other way: they are held while a movement is enqueued, which may take as long as the device does. */
#define SL_PATIENCE 1000
bool sl_migrator_try_lock(struct sl_migrator *migrator, int tries);
void sl_migrator_lock(struct sl_migrator *migrator);
void sl_migrator_unlock(struct sl_migrator *migrator);

/* Whether movement `sequence` of the direction has finished. Asks the driver at most once. */
bool sl_migrator_done(struct sl_migrator *migrator, struct sl_link_direction *direction, uint64_t sequence);

/* Makes `stream` wait for movement `sequence`, which must have been issued. */
void sl_migrator_wait(struct sl_migrator *migrator, struct sl_link_direction *direction, uint64_t sequence,
                      sl_stream stream);
/* The same on the host. */
void sl_migrator_wait_host(struct sl_migrator *migrator, struct sl_link_direction *direction,
                           uint64_t sequence);

/* The out movement behind which `bytes` bytes of the chunk fit into the budget, counted by what has left and
 * not by what was issued to leave; 0: they fit at once. Caller holds in.lock. */
uint64_t sl_migrator_room_after(const struct sl_migrator *migrator, sl_chunk chunk, uint64_t bytes,
                                uint64_t budget_bytes);

/* Whether the chunk is dead, and evicting it now would copy it nevertheless: its frees lie behind a
 * collective that is not over. May ask the driver. */
bool sl_migrator_is_behind_peers(struct sl_migrator *migrator, sl_chunk c);

/* Frees the chunk's frame: copies it out, or discards it if its content is dead. It starts when the chunk's
 * users in `fence` (NULL: none), its own fetch and, for a discard, the frees of its memory have finished.
 * Caller holds out.lock. Returns the movement's sequence, or 0 if the chunk held no frame. */
uint64_t sl_migrator_evict(struct sl_migrator *migrator, sl_chunk chunk, const struct sl_fence *fence,
                           enum sl_move_cause cause);

/* Brings `bytes` bytes of the chunk onto the device once movement `after_out` of the out direction has
 * finished: all of it, or what its frame lacks. Caller holds in.lock, and out.lock as well where the chunk
 * may have a frame that grows: an eviction would take it meanwhile. Returns the movement's sequence, or 0 if
 * nothing was lacking. */
uint64_t sl_migrator_fetch(struct sl_migrator *migrator, sl_chunk chunk, uint64_t bytes, uint64_t after_out,
                           enum sl_move_cause cause);

/* The driver moves memory as it likes (SL_MEMORY_PAGED): the chunk counts as resident in all its bytes from
 * now on, and nothing is moved or counted. Caller holds the order lock. */
void sl_migrator_hand_to_driver(struct sl_migrator *migrator, sl_chunk chunk);

/* Tells the driver that the chunk, if it is not resident and no allocation lies in it, holds nothing, so that
 * it will not be copied in. Caller holds out.lock. */
void sl_migrator_discard(struct sl_migrator *migrator, sl_chunk chunk);

#endif
