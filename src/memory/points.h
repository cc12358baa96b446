/* Points at which frees take effect: events on streams whose earlier work may use the memory.
 *
 * Where the driver records no event and waits for no stream, points are unsure: nothing tells when the device
 * has passed them, except a wait for the whole context or later points on all streams. Waiters collect points
 * in lists. Thread-safe as frees.h is.
 */
#ifndef SLUICE_POINTS_H
#define SLUICE_POINTS_H

#include <stdatomic.h>

#include "device/backend.h"

struct sl_frees;

/* A stream, distinct from all others of the core, destroyed streams included. */
struct sl_free_stream {
    sl_stream handle;
    uint64_t serial; /* never reused; 0: unknown, so never equal to another */
};

/* Only frees.c and points.c look into it. */
struct sl_points {
    struct sl_frees *list;
    uint32_t refs; /* guarded by the list's lock */
    uint32_t count;
    _Atomic bool open;   /* its one event is not recorded yet; it belongs on `stream` */
    _Atomic bool unsure; /* events are missing */
    sl_stream stream;
    uint64_t began;  /* frees in the list before the events were recorded */
    uint64_t number; /* of the last free that has these points; UINT64_MAX: not in the list yet */
    struct {
        sl_event_handle event;
        uint64_t serial;
        uint64_t behind; /* the last collective in front of the event, see behind.h; UINT64_MAX: not known */
    } at[];
};

/* Records a point on each of `count` streams, which must accept work: enqueues. If an event cannot be
 * recorded, the host waits for its stream instead; if that fails, too, the points are unsure. NULL: nothing
 * is left to wait for. */
struct sl_points *sl_points_record(struct sl_frees *frees, const struct sl_free_stream *streams,
                                   uint32_t count);
/* A point on the stream that is recorded later, and shared by all frees on it until then. A later event
 * covers more work, so data stays safe; but waiters must not wait for work after the free. So sl_frees_flush
 * is called before the program gives any stream work: rule 10 of docs/concurrency.md. Enqueues, if another
 * stream has an open point. NULL: nothing is left to wait for. Precondition: the stream's handle means the
 * same stream to every thread. */
struct sl_points *sl_points_open(struct sl_frees *frees, const struct sl_free_stream *stream);
/* The open point on the stream, or a new one, where that needs no call of the driver; else NULL. Thread-safe;
 * enqueues nothing. */
struct sl_points *sl_points_share(struct sl_frees *frees, const struct sl_free_stream *stream);
/* Points without events, which are unsure. */
struct sl_points *sl_points_unknown(struct sl_frees *frees);

/* Accepts NULL. */
bool sl_points_are_unsure(const struct sl_points *points);
/* Makes the points unsure. */
void sl_points_doubt(struct sl_points *points);
/* Whether the device has passed all of them. Queries the driver. Precondition: the list is locked. */
bool sl_points_have_passed(const struct sl_frees *frees, const struct sl_points *points);

/* Waits on the host for all of the points and releases them. Accepts NULL. SL_ERR_DRIVER: some may be
 * ahead. */
enum sl_status sl_points_wait(struct sl_frees *frees, struct sl_points *points);
/* Releases the points, whether they have passed or not. Accepts NULL. */
void sl_points_void(struct sl_frees *frees, struct sl_points *points);
/* The same where the list is locked, or at its close. Does not accept NULL. */
void sl_points_release(struct sl_frees *frees, struct sl_points *points);

/* Records the open point, if there is one. Enqueues. Precondition: the stream's context is current, and its
 * handle means the same stream to every thread. */
void sl_frees_flush(struct sl_frees *frees);
/* The same if the point is on `stream`, which is about to be destroyed. */
void sl_frees_flush_stream(struct sl_frees *frees, sl_stream stream);

/* Handles of streams that come from our tables are used between hold and let_go only, so that their owner can
 * wait, before it destroys a stream, until no other thread uses its handle. Takes no lock. */
uint32_t sl_frees_hold(struct sl_frees *frees);
void sl_frees_let_go(struct sl_frees *frees, uint32_t held);
/* Waits for those who hold now. Precondition: the tables do not have the handle any more. */
void sl_frees_wait_for_holders(struct sl_frees *frees);

/* A list of events to wait for, which belong to points. Zeroed before its first use. */
struct sl_waits {
    struct sl_wait {
        sl_event_handle event;
        struct sl_points *points; /* holds a reference to the event */
        uint64_t serial;          /* the event's stream */
        uint32_t index;           /* of the event among those of the points */
    } * at;
    uint32_t count, capacity;
    bool unsure; /* something that belongs here has no event */
};

/* Whether there is anything to wait for. */
static inline bool sl_waits_any(const struct sl_waits *waits)
{
    return waits->count || waits->unsure;
}
/* Whether waiting for `later` makes waiting for `earlier` unnecessary: both are on one stream, and `earlier`
 * was known before `later` was recorded. */
bool sl_wait_covers(const struct sl_wait *later, const struct sl_wait *earlier);
/* Whether the event lies behind a collective that is not over, and that the stream with the serial does not
 * wait for anyway; 0: any stream. May ask the driver. */
bool sl_wait_is_behind(const struct sl_wait *wait, uint64_t serial);
/* Whether one of the waits is open. */
bool sl_waits_are_open(const struct sl_waits *waits);

/* Records the open ones and makes `stream`, or else the host, wait for all of them: enqueues. SL_ERR_DRIVER:
 * some are not waited for. */
enum sl_status sl_waits_enqueue(const struct sl_waits *waits, const struct sl_backend *backend,
                                sl_stream stream);
/* The same for a stream of which it is not known whether it captures: see sl_wait_beside. */
enum sl_status sl_waits_beside(const struct sl_waits *waits, const struct sl_backend *backend,
                               sl_stream stream);
/* Waits for the event on the host. SL_ERR_DRIVER: it may be ahead. May be called under any lock. */
enum sl_status sl_wait_on_host(const struct sl_wait *wait);

/* Moves the points to the end of *waits. */
void sl_points_give(struct sl_frees *frees, struct sl_points *points, struct sl_waits *waits);
/* Appends event `i` of the points, unless a wait in the list covers it. Precondition: the list of frees is
 * locked. */
void sl_waits_append(struct sl_frees *frees, struct sl_waits *waits, struct sl_points *points, uint32_t i);
/* Appends a copy of a wait that another list keeps. */
void sl_waits_add(struct sl_waits *waits, const struct sl_wait *wait, struct sl_frees *frees);
/* Releases the waits that have passed. Queries the driver. */
void sl_waits_prune(struct sl_waits *waits, struct sl_frees *frees);
/* Releases all waits and empties the list. */
void sl_waits_end(struct sl_waits *waits, struct sl_frees *frees);
/* Releases one wait. */
void sl_wait_end(struct sl_wait *wait, struct sl_frees *frees);

#endif
