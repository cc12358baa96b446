/* Movements that are enqueued on a stream of ours, behind what they wait for. They run in the order of their
 * numbers, so when movement s is done, all earlier ones are.
 *
 * Each movement has an event, which is reused once its movement is known to be done. So there are as many
 * events as movements were ever in flight at once. If the driver gives no more, or there are SL_EVENTS_MOST,
 * the oldest event is reused too early. It then stands for the later movement: a wait for it may be too long,
 * never too short.
 */
#ifndef SLUICE_ENQUEUED_H
#define SLUICE_ENQUEUED_H

#include <stdatomic.h>

#include "device/backend.h"

#define SL_EVENTS_LEAST 256
#define SL_EVENTS_MOST 16384

struct sl_enqueued {
    sl_stream stream;
    _Atomic uint64_t issued;          /* the last movement submitted */
    _Atomic uint64_t done;            /* the last one known to be done */
    _Atomic uint64_t unmarked;        /* from this one on, events stand for nothing; 0: all do */
    _Atomic uint32_t event_count;     /* so many of the last movements have their own event */
    _Atomic(sl_event_handle) *events; /* of movement s, at s % SL_EVENTS_MOST */
};

enum sl_status sl_enqueued_init(struct sl_enqueued *enqueued, const struct sl_backend *backend,
                                sl_stream stream);
/* Accepts a zeroed or half-built one. `backend`: NULL if the device is gone. */
void sl_enqueued_close(struct sl_enqueued *enqueued, const struct sl_backend *backend);

/* Ends the next movement, which was enqueued: records its event, or waits on the host for it, and returns its
 * number. *status becomes the error if neither can be had, and else stays as it was. `ask`: the driver may be
 * asked which movements are done. Caller holds the lock. */
uint64_t sl_enqueued_submitted(struct sl_enqueued *enqueued, const struct sl_backend *backend, bool ask,
                               enum sl_status *status);

/* The event of an issued movement, or one that covers later movements, too. Any thread. */
sl_event_handle sl_enqueued_event(const struct sl_enqueued *enqueued, uint64_t sequence);
/* Whether the movement still has its own event. */
bool sl_enqueued_has_event(const struct sl_enqueued *enqueued, uint64_t sequence);

/* Whether the movement is done. Asks the driver at most once. Any thread. */
bool sl_enqueued_ask_done(struct sl_enqueued *enqueued, const struct sl_backend *backend, uint64_t sequence);
/* Makes the stream, or NULL: the host, wait for an issued movement. SL_ERR_DRIVER: it may be ahead. Any
 * thread. */
enum sl_status sl_enqueued_wait(struct sl_enqueued *enqueued, const struct sl_backend *backend,
                                uint64_t sequence, const sl_stream *stream);
/* Whether that is known without asking. */
static inline bool sl_enqueued_known_done(const struct sl_enqueued *enqueued, uint64_t sequence)
{
    return sequence <= atomic_load_explicit(&enqueued->done, memory_order_acquire);
}
/* The movement is done. Any thread. */
void sl_enqueued_set_done(struct sl_enqueued *enqueued, uint64_t sequence);

#endif
