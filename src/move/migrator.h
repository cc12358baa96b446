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
 * The migrator changes the content by compare-and-swap before the driver call, under the direction's lock.
 *
 * One rule keeps data: only a free makes content dead, and only dead content is discarded. A chunk is
 * RESIDENT_DEAD or DEAD only while no allocation lies in it, whatever a plan expects. A discard waits on the
 * device for the points of the frees (frees.h) of all memory in the chunk. The next owner of memory in the
 * chunk waits for the discard (sl_chunk_record.discard_sequence). Evictions copy, and fetches copy back, so
 * they are right at any time, even while kernels use the chunk; their waits only save time.
 */
#ifndef SLUICE_MIGRATOR_H
#define SLUICE_MIGRATOR_H

#include "memory/arena.h"
#include "memory/frees.h"
#include "memory/behind.h"
#include "move/link_direction.h"
#include "move/movers.h"
#include "move/stats.h"
#include "move/transfer.h"

#define SL_STREAMS 64
#define SL_SHARED_STREAM 63 /* the common number of all streams that have none of their own */

/* Events that cover all work submitted to some streams so far. Evictions wait for them only to save time. */
struct sl_fence {
    _Atomic uint64_t streams; /* bits of the streams with an event */
    sl_event_handle events[SL_STREAMS];
    uint64_t behind[SL_STREAMS]; /* last collective in front of each (behind.h); 0: none */
    sl_tick tick;                /* the launch in front of the fence; see fences.h */
    _Atomic uint32_t holders;    /* that may still wait for the events (struct sl_users) */
};

#define SL_ASSUMED_LINK_BYTES_PER_S 24000000000u /* until it is measured: PCIe 4 x16 */

struct sl_migrator {
    const struct sl_backend *backend;
    struct sl_arena *arena;
    struct sl_stats *stats;
    struct sl_frees *frees;  /* NULL: the device never uses freed memory */
    _Atomic bool keeps_dead; /* copies dead chunks, too */
    _Atomic uint32_t held;   /* see sl_migrator_is_held */
    struct sl_behind behind; /* streams that may wait for other ranks: no movement waits for them */
    struct sl_link_direction in, out;
    struct sl_movers *movers;        /* carry movements out; NULL: they are enqueued */
    struct sl_lock times;            /* guards `link` and the directions' transfers */
    _Atomic uint64_t occupied_bytes; /* sum of all frames, in the order in which movements are issued */
    _Atomic uint64_t *left_bytes;    /* given up by out movements 1 to s, at s % SL_EVENTS_MOST */
    _Atomic bool
        failed; /* nothing is moved any more: the driver refused a movement, or the core has stopped */
    struct sl_device_clock *clock; /* NULL: nothing is timed */
    bool traced;                   /* all movements are timed */
    _Atomic bool wants_anchor;     /* the clock needs an anchor in front of the next movement */
    struct sl_link link;           /* measurements of its speed */
    uint64_t link_in_bytes_per_s, link_out_bytes_per_s; /* the latest result of the measurements */
    uint64_t assumed_bytes_per_s; /* the speed of both directions until it is measured */
    uint32_t link_sharers;        /* known devices on the link */
    uint64_t timed_at; /* 1 + the number of movements when some were last timed without a trace; 0: never */
    const _Atomic int *captures; /* while there are any, the driver is not asked */
};

/* `captures`: the number of stream captures under way. */
enum sl_status sl_migrator_init(struct sl_migrator *migrator, const struct sl_backend *backend,
                                struct sl_arena *arena, struct sl_stats *stats, const _Atomic int *captures);
/* Starts timing movements: all of them if there is a `trace`, else some. */
void sl_migrator_time(struct sl_migrator *migrator, struct sl_trace *trace);
/* When `event`, which has passed, was reached, on the clock of the trace; 0: unknown. */
uint64_t sl_migrator_when(struct sl_migrator *migrator, sl_event_handle event);
/* Keeps that clock exact while nothing moves. Call it now and then if there is a trace. Enqueues: the order
 * lock must not be held. */
void sl_migrator_tie_clock(struct sl_migrator *migrator);
/* Records the direction's finished movements in the trace. Caller holds the direction's lock. */
void sl_migrator_settle_times(struct sl_migrator *migrator, struct sl_link_direction *direction);
/* Updates the link's speeds (see sl_link_speeds) from finished movements, and has some movements timed now
 * and then if there is no trace. Call it now and then. Does nothing if a direction's lock is taken. */
void sl_migrator_measure(struct sl_migrator *migrator, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s);
/* The best speed of a direction that was measured while movements came one at a time; 0: unknown. */
uint64_t sl_migrator_link_alone(const struct sl_migrator *migrator);
/* The link is shared by so many devices: until it is measured, each is assumed to get an equal part. Caller
 * holds the order lock, or nothing runs yet. */
void sl_migrator_share_link(struct sl_migrator *migrator, uint32_t devices);
void sl_migrator_close(struct sl_migrator *migrator, bool device_gone); /* accepts a half-built one */

/* Whether a stream of the program may wait for something that is not the device's own work, such as a host
 * function. Work behind it may depend on what the program does later, so no movement waits for any stream of
 * the program then. */
static inline bool sl_migrator_is_held(const struct sl_migrator *migrator)
{
    return atomic_load_explicit(&migrator->held, memory_order_acquire) > 0;
}

/* Tries at most `tries` times to take both directions' locks. A thread that holds the order lock must not
 * take them in another way: they are held while a movement is enqueued, which may block as long as the device
 * is busy: rule 4 of docs/concurrency.md. */
#define SL_PATIENCE 1000
bool sl_migrator_try_lock(struct sl_migrator *migrator, int tries);
void sl_migrator_lock(struct sl_migrator *migrator);
void sl_migrator_unlock(struct sl_migrator *migrator);

/* Whether movement `sequence` of the direction is done. Asks the driver at most once. */
bool sl_migrator_done(struct sl_migrator *migrator, struct sl_link_direction *direction, uint64_t sequence);

/* Makes `stream` wait for movement `sequence`, which must have its number already. SL_ERR_DRIVER: it does
 * not. */
enum sl_status sl_migrator_wait(struct sl_migrator *migrator, struct sl_link_direction *direction,
                                uint64_t sequence, sl_stream stream);
/* The same on the host. */
enum sl_status sl_migrator_wait_host(struct sl_migrator *migrator, struct sl_link_direction *direction,
                                     uint64_t sequence);

/* The out movement after which `bytes` bytes of the chunk fit into the budget, counting only frames whose
 * evictions are done by then; 0: they fit at once. Caller holds in.lock. */
uint64_t sl_migrator_room_after(const struct sl_migrator *migrator, sl_chunk chunk, uint64_t bytes,
                                uint64_t budget_bytes);

/* Whether the chunk is dead, but evicting it now would copy it, because its frees lie behind a collective
 * that is not over. May ask the driver. */
bool sl_migrator_is_behind_peers(struct sl_migrator *migrator, sl_chunk c);

/* Whether the driver would copy in what was in the absent chunk before its memory was freed, and
 * sl_migrator_discard can prevent that now. May ask the driver. */
bool sl_migrator_may_discard(struct sl_migrator *migrator, sl_chunk c);

/* Frees the chunk's frame: copies it out, or discards it if its content is dead. The movement starts when the
 * chunk's users in `fence` (NULL: none), its own fetch and, for a discard, the frees of its memory are done.
 * Caller holds out.lock. Returns the movement's sequence; 0: the chunk has no frame. */
uint64_t sl_migrator_evict(struct sl_migrator *migrator, sl_chunk chunk, struct sl_fence *fence,
                           enum sl_move_cause cause);

/* Fetches the chunk up to `bytes` bytes, or the bytes that its frame lacks, once out movement `after_out` is
 * done. Caller holds in.lock; if the chunk may have a frame that grows, out.lock as well, since an eviction
 * would take the frame meanwhile. Returns the movement's sequence; 0: nothing is missing. */
uint64_t sl_migrator_fetch(struct sl_migrator *migrator, sl_chunk chunk, uint64_t bytes, uint64_t after_out,
                           enum sl_move_cause cause);

/* The driver moves memory (SL_MEMORY_PAGED): the chunk counts as fully resident from now on, and nothing is
 * moved or counted. Caller holds the order lock. */
void sl_migrator_hand_to_driver(struct sl_migrator *migrator, sl_chunk chunk);

/* The events behind which the streams that were seen to use the chunk are done with it, as far as the fence
 * (may be NULL) says so, and there is room for them. Not those behind what may take for ever. Caller holds
 * out.lock, so that the fence is not reused, and lets the users go when it has waited for them. */
void sl_migrator_users(struct sl_migrator *migrator, sl_chunk chunk, struct sl_fence *fence,
                       struct sl_users *out);
/* Any thread. */
void sl_users_let_go(struct sl_users *users);
/* What the driver said to a movement: once it refuses one, nothing is moved any more, and a line says so. */
void sl_migrator_judge(struct sl_migrator *migrator, enum sl_status status);

/* Tells the driver that a chunk that is neither resident nor holds an allocation has no content, so it need
 * not be copied in later. Caller holds out.lock. */
void sl_migrator_discard(struct sl_migrator *migrator, sl_chunk chunk);

#endif
