/* One direction of the link: a stream of the backend, a lock, and a sequence of movements, which run in the
 * order of their numbers, so that "movement s is done" means that all before it are.
 *
 * Each movement has an event, which serves a later one as soon as its own is known to be done: so there are
 * as many as were ever under way at once. Where the driver gives no more of them, or there are
 * SL_EVENTS_MOST, the oldest serves again too soon. It then stands for the later movement: waiting on it is
 * too long, never too short.
 */
#ifndef SLUICE_LINK_DIRECTION_H
#define SLUICE_LINK_DIRECTION_H

#include <stdatomic.h>

#include "base/locks.h"
#include "device/backend.h"

#define SL_EVENTS_LEAST 256
#define SL_EVENTS_MOST 16384

struct sl_transfers;

struct sl_link_direction {
    struct sl_lock lock;
    sl_stream stream;
    _Atomic uint64_t issued;          /* the last movement submitted */
    _Atomic uint64_t done;            /* the last one known to have finished */
    _Atomic uint32_t event_count;     /* the last so many movements have one each */
    _Atomic(sl_event_handle) *events; /* of movement s: at s % SL_EVENTS_MOST */
    struct sl_transfers *transfers;   /* NULL: movements are not timed */
};

enum sl_status sl_link_direction_init(struct sl_link_direction *direction, const struct sl_backend *backend,
                                      sl_stream stream, enum sl_lock_rank rank);
/* Accepts a zeroed or half-built one. `backend`: NULL where the device is gone. */
void sl_link_direction_close(struct sl_link_direction *direction, const struct sl_backend *backend);

/* Closes the next movement, which the stream has got: records its event. Returns its number. `status`: where
 * the event cannot be recorded, why; else as it was. `ask`: the driver may be asked what is done. Caller
 * holds the lock. */
uint64_t sl_link_direction_submitted(struct sl_link_direction *direction, const struct sl_backend *backend,
                                     bool ask, enum sl_status *status);

/* The event of a movement that was issued, or one that stands for later movements too. Any thread. */
sl_event_handle sl_link_direction_event(const struct sl_link_direction *direction, uint64_t sequence);
/* Whether it is the movement's own still. */
bool sl_link_direction_has_event(const struct sl_link_direction *direction, uint64_t sequence);

/* Whether the movement has finished. Asks the driver at most once. Any thread. */
bool sl_link_direction_is_done(struct sl_link_direction *direction, const struct sl_backend *backend,
                               uint64_t sequence);
/* Whether that is known without asking. */
static inline bool sl_link_direction_known_done(const struct sl_link_direction *direction, uint64_t sequence)
{
    return sequence <= atomic_load_explicit(&direction->done, memory_order_acquire);
}
/* The movement has finished. Any thread. */
void sl_link_direction_set_done(struct sl_link_direction *direction, uint64_t sequence);

#endif
