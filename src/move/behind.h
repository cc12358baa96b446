/* What may wait for other ranks.
 *
 * A collective waits on the device for its peers, and they may wait for something that this rank does only
 * later: a receive that is posted ahead waits for a sender who waits for this rank's next message; a
 * broadcast's root may wait for a word through a socket. A movement that waited behind it could hold up what
 * they wait for, and all would wait for ever. So no movement waits behind a collective that is not over.
 *
 * Each collective has a number, and each stream, and each event that the program recorded, the number of the
 * last one that it lies behind. All up to a number are over where the events behind them have passed. It errs
 * on the side of not waiting. Movements that do not wait are right all the same (migrator.h), and slower
 * where they leave under the hands of a kernel. Thread-safe; the lock is a leaf.
 */
#ifndef SLUICE_BEHIND_H
#define SLUICE_BEHIND_H

#include <stdatomic.h>

#include "base/locks.h"
#include "device/backend.h"

#define SL_BEHIND_STREAMS 64   /* as SL_STREAMS */
#define SL_BEHIND_PENDING 256  /* collectives that are not over, as far as is known */
#define SL_BEHIND_EVENTS 1024u /* of the program's, a power of two */

struct sl_behind {
    struct sl_lock lock;
    const struct sl_backend *backend;
    const _Atomic int *captures; /* while there are any, there are no questions to the driver */
    _Atomic bool any;            /* there was a collective; without one nothing here does anything */
    uint64_t launched, over;     /* numbers, from 1 */
    uint64_t unwatched;          /* the first one that found no room or event below; 0: none */
    struct {
        uint64_t number;
        sl_event_handle event;
    } pending[SL_BEHIND_PENDING]; /* in the order of their numbers, from `first` on */
    uint32_t first, count;
    uint32_t recording; /* events that are about to be pending */
    uint64_t streams[SL_BEHIND_STREAMS], serials[SL_BEHIND_STREAMS];
    uint64_t loose;  /* by bit: streams that do not wait for the legacy stream, nor it for them */
    uint64_t others; /* the largest number of the streams that are not */
    struct sl_behind_event {
        const void *event;
        uint64_t number;
    } events[SL_BEHIND_EVENTS], kept[SL_BEHIND_EVENTS]; /* open addressing; a copy while it is made anew */
    uint32_t event_count;
    uint64_t forgotten; /* the largest number of events that found no room */
};

/* A stream as the core knows it (streams.h). `loose`: see above. */
struct sl_behind_stream {
    uint32_t number;
    uint64_t serial;
    sl_stream handle;
    bool loose;
};

enum sl_status sl_behind_init(struct sl_behind *behind, const struct sl_backend *backend,
                              const _Atomic int *captures);
void sl_behind_close(struct sl_behind *behind, bool device_gone); /* accepts a zeroed one */

static inline bool sl_behind_any(const struct sl_behind *behind)
{
    return atomic_load_explicit(&behind->any, memory_order_relaxed);
}

/* A collective was launched on the stream. Enqueues. */
void sl_behind_launched(struct sl_behind *behind, const struct sl_behind_stream *stream);
/* The program recorded `event` on stream number `s`; or makes a stream wait for the event. */
void sl_behind_recorded(struct sl_behind *behind, uint32_t s, const void *event);
void sl_behind_waits(struct sl_behind *behind, const struct sl_behind_stream *stream, const void *event);
/* Whether what waits for the event lies behind a collective of this core that is not over. May ask the
 * driver. */
bool sl_behind_is_event(struct sl_behind *behind, const void *event);
/* The program waited for all work that was submitted before. */
void sl_behind_synchronized(struct sl_behind *behind);

/* The number of the last collective that what stream number `s` was given until now lies behind; 0: none. */
uint64_t sl_behind_number(struct sl_behind *behind, uint32_t s);
/* Whether all up to this number are over. May ask the driver. */
bool sl_behind_is_over(struct sl_behind *behind, uint64_t number);
/* Whether the stream with this serial, 0: not known, lies behind one that is not over. The same. */
bool sl_behind_is(struct sl_behind *behind, uint64_t serial);

#endif
