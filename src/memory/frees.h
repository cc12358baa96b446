/* Freed memory that the device may still use.
 *
 * A free takes effect at points: events recorded at the free, one on each stream whose earlier work may use
 * the memory. cuMemFreeAsync has one, on the stream that it names; cuMemFree has one on every stream that has
 * work. Until the device has passed the points, the next owner of the memory waits for them, and so does a
 * discard of its chunk; nobody else waits. See docs/concurrency.md, "Freed memory".
 *
 * The ranges do not overlap: memory that is given out again leaves the list before it can be freed again.
 * Thread-safe; the lock is a leaf, and no work is enqueued under it.
 */
#ifndef SLUICE_FREES_H
#define SLUICE_FREES_H

#include <stdatomic.h>

#include "base/locks.h"
#include "device/backend.h"

/* A stream, distinct from all others of the core, destroyed streams included. */
struct sl_free_stream {
    sl_stream handle;
    uint64_t serial; /* never reused; 0: unknown, so never equal to another */
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
    uint64_t added;         /* frees so far; numbers them */
    uint64_t passed;        /* the host has waited for all frees up to this number */
    sl_event_handle *spare; /* unused events */
    uint32_t spare_count, spare_capacity;
};

/* Events to wait for. Zeroed before its first use. */
struct sl_waits {
    struct sl_wait {
        sl_event_handle event;
        struct sl_points *points; /* holds a reference to the event */
        uint64_t serial;          /* the event's stream */
    } * at;
    uint32_t count, capacity;
};

enum sl_status sl_frees_init(struct sl_frees *frees, const struct sl_backend *backend);
void sl_frees_close(struct sl_frees *frees, bool device_gone); /* accepts a zeroed or half-built one */

/* Records a point on each of `count` streams, which must accept work: enqueues. If an event cannot be
 * recorded, the host waits for its stream instead. NULL: nothing is left to wait for. */
struct sl_points *sl_points_record(struct sl_frees *frees, const struct sl_free_stream *streams,
                                   uint32_t count);
/* A point on the stream that is recorded later, and shared by all frees on it until then. A later event
 * covers more work, so data stays safe; but waiters must not wait for work after the free. So sl_frees_flush
 * is called before the program gives any stream work. Enqueues, if another stream has an open point. NULL:
 * nothing is left to wait for. Precondition: the stream's handle means the same stream to every thread. */
struct sl_points *sl_points_open(struct sl_frees *frees, const struct sl_free_stream *stream);
/* Records the open point, if there is one. Enqueues. Precondition: the stream's context is current, and its
 * handle means the same stream to every thread. */
void sl_frees_flush(struct sl_frees *frees);
/* The same if the point is on `stream`, which is about to be destroyed. */
void sl_frees_flush_stream(struct sl_frees *frees, sl_stream stream);
/* Whether [begin, end) holds memory freed at an open point, which must not be discarded yet. */
bool sl_frees_are_open(struct sl_frees *frees, uint64_t begin, uint64_t end);

/* Waits on the host for all of the points and releases them. Accepts NULL. */
void sl_points_wait(struct sl_frees *frees, struct sl_points *points);
/* Releases the points, whether they have passed or not. Accepts NULL. */
void sl_points_void(struct sl_frees *frees, struct sl_points *points);
/* Moves the points to the end of *waits. */
void sl_points_give(struct sl_frees *frees, struct sl_points *points, struct sl_waits *waits);
/* Adds [begin, end), which was freed at `points`. The list takes ownership of `points`. NULL: all work on the
 * range is done. */
void sl_frees_add(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_points *points);

/* Removes [begin, end) from the list because it gets an owner, and appends its points on streams other than
 * `serial` to *waits. */
void sl_frees_take(struct sl_frees *frees, uint64_t begin, uint64_t end, uint64_t serial,
                   struct sl_waits *waits);
/* Whether an owner of [begin, end) on the stream `serial` would have to wait for another stream. */
bool sl_frees_any(struct sl_frees *frees, uint64_t begin, uint64_t end, uint64_t serial);
/* Appends the points of [begin, end) to *waits. The range stays in the list. */
void sl_frees_peek(struct sl_frees *frees, uint64_t begin, uint64_t end, struct sl_waits *waits);

/* The number of frees so far. Call it before the host waits for all work, and pass the result to
 * sl_frees_pass after the wait. */
uint64_t sl_frees_now(struct sl_frees *frees);
void sl_frees_pass(struct sl_frees *frees, uint64_t until);

/* Whether waiting for `later` makes waiting for `earlier` unnecessary: both are on one stream, and `earlier`
 * was known before `later` was recorded. */
bool sl_wait_covers(const struct sl_wait *later, const struct sl_wait *earlier);
/* Whether one of the waits is open. */
bool sl_waits_are_open(const struct sl_waits *waits);
/* Records the open ones and makes `stream` wait for all of them: enqueues. */
void sl_waits_enqueue(const struct sl_waits *waits, const struct sl_backend *backend, sl_stream stream);
/* Appends a copy of a wait that another list keeps. */
void sl_waits_add(struct sl_waits *waits, const struct sl_wait *wait, struct sl_frees *frees);
/* Releases the waits that have passed. Queries the driver. */
void sl_waits_prune(struct sl_waits *waits, struct sl_frees *frees);
/* Releases all waits and empties the list. */
void sl_waits_end(struct sl_waits *waits, struct sl_frees *frees);
/* Waits for the event on the host. */
void sl_wait_on_host(const struct sl_wait *wait);
/* Releases one wait. */
void sl_wait_end(struct sl_wait *wait, struct sl_frees *frees);

#endif
