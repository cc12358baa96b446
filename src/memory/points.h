/* Points at which frees take effect: events on streams whose earlier work may use the memory.
 *
 * Where the driver records no event and waits for no stream, points are unsure: nothing tells when the device
 * has passed them, except a wait for the whole context or later points on all streams. Thread-safe as frees.h
 * is.
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

/* Only frees.c, points.c and waits.c look into it. */
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
/* Waits on the host for one event of the points. Under any lock. */
enum sl_status sl_points_wait_for(const struct sl_points *points, sl_event_handle event);
/* Records the point if it is open. Enqueues. */
void sl_points_settle(struct sl_points *points);
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

#endif
