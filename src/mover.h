/* The mover: the two directions of the link (direction.h). Movements of one direction are issued under its
 * lock. Locks are taken in the order out, in.
 *
 * Every content change is a compare-and-swap made before the driver call, under the direction's lock:
 *   evict     RESIDENT -> HOST          drop      RESIDENT_DEAD -> DEAD
 *   fetch     HOST -> RESIDENT          populate  DEAD -> RESIDENT, or RESIDENT_DEAD before it is allocated
 * A free changes RESIDENT -> RESIDENT_DEAD and HOST -> DEAD; an allocation RESIDENT_DEAD -> RESIDENT. So a
 * chunk is dropped only while no allocation lies in it: what a kernel may have written unseen is never thrown
 * away.
 */
#ifndef SLUICE_MOVER_H
#define SLUICE_MOVER_H

#include "arena.h"
#include "direction.h"
#include "link_speed.h"
#include "stats.h"

#define SL_STREAMS 64
#define SL_SHARED_STREAM 63 /* the number of all streams that found none of their own */

/* Events that stand for "all that was submitted to these streams until now". */
struct sl_fence {
    _Atomic uint64_t streams; /* bit set */
    sl_event_handle events[SL_STREAMS];
};

struct sl_mover {
    const struct sl_backend *backend;
    struct sl_arena *arena;
    struct sl_stats *stats;
    struct sl_direction in, out;
    _Atomic uint64_t occupied_bytes; /* sum of the frames held by chunks, in issue order */
    _Atomic uint64_t *left_bytes;    /* by out movement s and all before it, at s % SL_EVENTS_MOST */
    _Atomic bool failed;             /* the driver refused a movement: move nothing more */
    struct sl_device_clock *clock;   /* or NULL: nothing is timed */
    bool traced;                     /* every movement is timed */
    struct sl_link link;             /* how fast it was */
    uint64_t timed_at;           /* movements that were issued when some were last timed without a trace */
    const _Atomic int *captures; /* while there are any, there are no questions to the driver */
};

/* `captures`: stream captures under way. */
enum sl_status sl_mover_init(struct sl_mover *mover, const struct sl_backend *backend, struct sl_arena *arena,
                             struct sl_stats *stats, const _Atomic int *captures);
/* From now on movements are timed: all of them for `trace`, or, without one, some. */
void sl_mover_time(struct sl_mover *mover, struct sl_trace *trace);
/* When `event`, which is done, was reached, on the records' clock; 0: not known. May take in's lock. */
uint64_t sl_mover_when(struct sl_mover *mover, sl_event_handle event);
/* Tells the trace of the movements that are done. Takes the locks. */
void sl_mover_settle_times(struct sl_mover *mover);
/* Brings up to date what is known of the link's speed (see sl_link_speeds), to be called now and then: where
 * every movement is timed, or some were, or it is time to. Does nothing where somebody moves something,
 * unless `wait`. */
void sl_mover_measure(struct sl_mover *mover, bool wait, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s);
void sl_mover_close(struct sl_mover *mover, bool device_gone); /* accepts a half-built one */

/* Whether movement `sequence` of the direction has finished. Asks the driver at most once. */
bool sl_mover_done(struct sl_mover *mover, struct sl_direction *direction, uint64_t sequence);

/* Makes `stream` wait for movement `sequence`, which must have been issued. */
void sl_mover_wait(struct sl_mover *mover, struct sl_direction *direction, uint64_t sequence,
                   sl_stream stream);
/* The same on the host. */
void sl_mover_wait_host(struct sl_mover *mover, struct sl_direction *direction, uint64_t sequence);

/* The out movement behind which `bytes` bytes of the chunk fit into the budget, counted by what has left and
 * not by what was told to leave; 0: they fit at once. Caller holds in.lock. */
uint64_t sl_mover_room_after(const struct sl_mover *mover, sl_chunk chunk, uint64_t bytes,
                             uint64_t budget_bytes);

/* Frees the chunk's frame: copies it out, or drops it if its content is dead. It starts when the chunk's
 * users in `fence` (NULL: none) and its own fetch have finished. Caller holds out.lock. Returns the
 * movement's sequence, or 0 if the chunk held no frame. */
uint64_t sl_mover_release(struct sl_mover *mover, sl_chunk chunk, const struct sl_fence *fence,
                          enum sl_move_cause cause);

/* Brings `bytes` bytes of the chunk onto the device once movement `after_out` of the out direction has
 * finished: all of it, or what its frame lacks. Caller holds in.lock. Returns the movement's sequence, or 0
 * if nothing was lacking. */
uint64_t sl_mover_bring(struct sl_mover *mover, sl_chunk chunk, uint64_t bytes, uint64_t after_out,
                        enum sl_move_cause cause);

/* The driver moves memory as it likes (SL_MEMORY_PAGED): the chunk counts as resident in all its bytes from
 * now on, and nothing is moved or counted. Caller holds the order lock. */
void sl_mover_concede(struct sl_mover *mover, sl_chunk chunk);

/* Tells the driver that the chunk, which is not resident, holds nothing, so that it will not be copied in.
 * Caller holds out.lock; pre: no allocation lies in the chunk. */
void sl_mover_discard(struct sl_mover *mover, sl_chunk chunk, uint64_t bytes, const struct sl_fence *fence);

#endif
