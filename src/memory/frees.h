/* Memory that was freed and that the device may not be done with.
 *
 * A free takes effect at points: events recorded at the free, one on each stream whose work until then may
 * use the memory. cuMemFreeAsync has one, on the stream it names; cuMemFree has one on every stream that has
 * work. Until the points have passed on the device, whoever gets the memory waits for them, and so does a
 * discard of its chunk; nobody waits for anything else. See docs/concurrency.md, "Freed memory".
 *
 * The ranges do not overlap: memory that is given out again leaves the list before it can be freed again.
 * Thread-safe; the lock is a leaf, and no work is enqueued under it.
 */
#ifndef SLUICE_FREES_H
#define SLUICE_FREES_H

#include <stdatomic.h>

#include "base/locks.h"
#include "device/backend.h"

/* A stream as the core distinguishes it from all others, those that are gone included. */
struct sl_free_stream {
    sl_stream handle;
    uint64_t serial; /* never another stream's; 0: not known, so never the same as another */
};

struct sl_points;

struct sl_frees {
    struct sl_lock lock;
    const struct sl_backend *backend;
    struct sl_freed {
        uint64_t begin, end;
        struct sl_points *points;
    } * ranges; /* sorted */
    uint32_t count, capacity;
    struct sl_points *open; /* a point that is not recorded yet, or NULL */
    _Atomic bool any_open;
    uint64_t added;         /* frees so far; each has its number */
    uint64_t passed;        /* up to this number the host has waited for all of them */
    sl_event_handle *spare; /* events that nobody waits for */
    uint32_t spare_count, spare_capacity;
};

/* Events that somebody is to wait for. Zeroed before its first use. */
struct sl_waits {
    struct sl_wait {
        sl_event_handle event;
        struct sl_points *points; /* keeps the event */
        uint64_t serial;          /* the stream that it lies on */
    } * at;
    uint32_t count, capacity;
};

enum sl_status sl_frees_init(struct sl_frees *frees, const struct sl_backend *backend);
void sl_frees_close(struct sl_frees *frees, bool device_gone); /* accepts a zeroed or half-built one */

/* Records a point on each of `count` streams, which must take work: enqueues. What cannot be recorded is
 * waited for on the host instead. NULL: nothing is left to wait for. */
struct sl_points *sl_points_record(struct sl_frees *frees, const struct sl_free_stream *streams,
                                   uint32_t count);
/* A point on the stream that is recorded later: all frees on it until then have the same one. To be recorded
 * later does no harm to data, since it lies behind more; but whoever waits for it must not wait for what
 * comes behind the free. So before the program gives any stream work sl_frees_flush is called, at the latest.
 * Enqueues, if another stream has such a point. NULL: nothing is left to wait for. pre: the stream's handle
 * means the same stream to every thread. */
struct sl_points *sl_points_open(struct sl_frees *frees, const struct sl_free_stream *stream);
/* Records the point that is open, if there is one. Enqueues; the stream's context is current, and its handle
 * means the same stream to every thread. */
void sl_frees_flush(struct sl_frees *frees);
/* The same if it lies on this stream, which is about to be destroyed. */
void sl_frees_flush_stream(struct sl_frees *frees, sl_stream stream);
/* Whether [begin, end) holds what was freed at a point that is open: not to be discarded yet. */
bool sl_frees_are_open(struct sl_frees *frees, uint64_t begin, uint64_t end);

/* Waits on the host for all of them, and gives them up. Accepts NULL. */
void sl_points_wait(struct sl_frees *frees, struct sl_points *points);
/* Gives them up, whether they have passed or not. Accepts NULL. */
void sl_points_void(struct sl_frees *frees, struct sl_points *points);
/* Moves them to the end of *waits. */
void sl_points_give(struct sl_frees *frees, struct sl_points *points, struct sl_waits *waits);
/* [begin, end) was freed at `points`, which the list owns from then on; NULL: all work on it is done. */
void sl_frees_add(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_points *points);

/* [begin, end) gets an owner: it leaves the list, and its points on other streams than `serial` are appended
 * to *waits. */
void sl_frees_take(struct sl_frees *frees, uint64_t begin, uint64_t end, uint64_t serial,
                   struct sl_waits *waits);
/* Whether whoever gets [begin, end) on the stream `serial` would have to wait for another one. */
bool sl_frees_any(struct sl_frees *frees, uint64_t begin, uint64_t end, uint64_t serial);
/* Appends the points of [begin, end) to *waits, which stays in the list. */
void sl_frees_peek(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_waits *waits);

/* What was freed until now; to be asked before the host waits for all work, and said after it did. */
uint64_t sl_frees_now(struct sl_frees *frees);
void sl_frees_pass(struct sl_frees *frees, uint64_t until);

/* Whether who waits for `later` need not wait for `earlier`: on one stream, a point that was recorded after
 * another one was known. */
bool sl_wait_covers(const struct sl_wait *later, const struct sl_wait *earlier);
/* Whether one of them is open. */
bool sl_waits_are_open(const struct sl_waits *waits);
/* Makes `stream` wait for all of them, which are recorded if they are open: enqueues. */
void sl_waits_enqueue(const struct sl_waits *waits, const struct sl_backend *backend, sl_stream stream);
/* Appends one that another list has and keeps. */
void sl_waits_add(struct sl_waits *waits, const struct sl_wait *wait, struct sl_frees *frees);
/* Gives up those that have passed. Asks the driver. */
void sl_waits_prune(struct sl_waits *waits, struct sl_frees *frees);
/* Gives them up, and leaves none. */
void sl_waits_end(struct sl_waits *waits, struct sl_frees *frees);
/* Waits for it on the host. */
void sl_wait_on_host(const struct sl_wait *wait);
/* Gives one up. */
void sl_wait_end(struct sl_wait *wait, struct sl_frees *frees);

#endif
