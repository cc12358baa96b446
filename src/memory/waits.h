/* Lists of events to wait for, which belong to points of frees. Thread-safe as frees.h is. */
#ifndef SLUICE_WAITS_H
#define SLUICE_WAITS_H

#include "device/backend.h"

struct sl_frees;
struct sl_points;

/* Events to wait for. Zeroed before its first use. */
struct sl_waits {
    struct sl_wait {
        sl_event_handle event;
        struct sl_points *points; /* holds a reference to the event */
        uint64_t serial;          /* the event's stream */
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
/* Whether one of the waits is open. */
bool sl_waits_are_open(const struct sl_waits *waits);

/* Records the open ones and makes `stream`, or else the host, wait for all of them: enqueues. SL_ERR_DRIVER:
 * some are not waited for. */
enum sl_status sl_waits_enqueue(const struct sl_waits *waits, const struct sl_backend *backend,
                                sl_stream stream);
/* The same for a stream of which it is not known whether it captures: see sl_wait_beside. */
enum sl_status sl_waits_beside(const struct sl_waits *waits, const struct sl_backend *backend,
                               sl_stream stream);
/* Waits for the event on the host. SL_ERR_DRIVER: it may be ahead. */
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
