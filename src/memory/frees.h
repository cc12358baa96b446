/* Freed memory that the device may still use.
 *
 * A free takes effect at points: events recorded at the free, one on each stream whose earlier work may use
 * the memory. cuMemFreeAsync has one, on the stream that it names; cuMemFree has one on every stream that has
 * work. Until the device has passed the points, the next owner of the memory waits for them, and so does a
 * discard of its chunk; nobody else waits. See docs/concurrency.md, "Freed memory".
 *
 * Where the driver records no event and waits for no stream, the points are unsure: nothing tells when the
 * device has passed them, except a wait for the whole context (sl_frees_pass) or later points on all streams
 * (sl_frees_mend). Until then the memory is neither given out nor discarded.
 *
 * The ranges do not overlap: memory that is given out again leaves the list before it can be freed again.
 * Thread-safe; the lock is a leaf, and no work is enqueued under it.
 */
#ifndef SLUICE_FREES_H
#define SLUICE_FREES_H

#include <stdatomic.h>

#include "base/locks.h"
#include "memory/points.h"

struct sl_frees {
    struct sl_lock lock;
    const struct sl_backend *backend;
    struct sl_behind *behind; /* what frees may have to wait for; NULL: there are no other ranks */
    struct sl_freed {
        uint64_t begin, end;
        struct sl_points *points;
    } * ranges; /* sorted */
    uint32_t count, capacity;
    struct sl_points *open; /* a point that is not recorded yet, or NULL */
    _Atomic bool any_open;
    struct sl_points *unknown; /* unsure, without events: of frees for which there is no memory */
    _Atomic bool any_unsure;   /* some range may have unsure points */
    _Atomic uint32_t epoch, holders[2];
    uint64_t added;         /* frees so far; numbers them */
    uint64_t passed;        /* the host has waited for all frees up to this number */
    sl_event_handle *spare; /* unused events */
    uint32_t spare_count, spare_capacity;
};

enum sl_status sl_frees_init(struct sl_frees *frees, const struct sl_backend *backend);
void sl_frees_close(struct sl_frees *frees, bool device_gone); /* accepts a zeroed or half-built one */

/* Whether [begin, end) holds memory freed at an open point, which must not be discarded yet. */
bool sl_frees_are_open(struct sl_frees *frees, uint64_t begin, uint64_t end);

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
/* Whether memory may be on the list whose points are unsure. */
static inline bool sl_frees_any_unsure(const struct sl_frees *frees)
{
    return __builtin_expect(atomic_load_explicit(&frees->any_unsure, memory_order_relaxed), 0);
}
/* `points`, which may be NULL, lie behind all work that any stream had at the frees up to number `until`:
 * they replace unsure ones. Takes ownership of `points`. */
void sl_frees_mend(struct sl_frees *frees, uint64_t until, struct sl_points *points);

#endif
