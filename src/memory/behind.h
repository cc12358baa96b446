/* Work that may wait for other ranks.
 *
 * A collective waits on the device for its peers, which may wait for something that this rank does only
 * later: a receive that is posted early waits for a sender that waits for this rank's next message; a
 * broadcast's root may wait for a message through a socket. A movement that waited behind the collective
 * could delay what the peers wait for, and all would wait forever. So no movement waits behind a collective
 * that is not over.
 *
 * Each collective has a number, in the order of the calls, which also tells its stream. Each stream, and each
 * event that the program recorded, has the number of the last collective in front of it. Collectives up to a
 * number are over when the events behind them have passed. In doubt a collective counts as in front, and as
 * not over. Movements that do not wait are still right (migrator.h), but slow if a kernel uses the chunk
 * while it is evicted. Thread-safe; the lock is a leaf.
 */
#ifndef SLUICE_BEHIND_H
#define SLUICE_BEHIND_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/locks.h"
#include "device/backend.h"

#define SL_BEHIND_STREAMS 64   /* SL_STREAMS; streams.c checks it */
#define SL_BEHIND_PENDING 256  /* collectives that are not known to be over */
#define SL_BEHIND_EVENTS 1024u /* events of the program; a power of two */

struct sl_behind {
    struct sl_lock lock;
    const struct sl_backend *backend;
    const _Atomic int *captures; /* while there are any, the driver is not asked */
    _Atomic bool any;            /* there was a collective; without one, nothing here does anything */
    _Atomic uint32_t launching;  /* collectives that are being launched, and may not be known here yet */
    uint64_t launched, over;     /* the last number given to a collective; the last one known to be over */
    uint64_t unwatched;          /* the first collective that got no event or no entry below; 0: none */
    struct {
        uint64_t number;
        sl_event_handle event;
    } pending[SL_BEHIND_PENDING]; /* in the order of their numbers, beginning at `first` */
    uint32_t first, count;
    uint32_t recording; /* events being recorded for `pending` */
    uint64_t streams[SL_BEHIND_STREAMS], serials[SL_BEHIND_STREAMS];
    struct {
        uint64_t first;   /* collective that was launched on the stream; 0: none */
        uint64_t ordered; /* the last one that is in front of it without doubt */
        pthread_t by;     /* the thread that says so: to others it may come later than what they see */
    } orders[SL_BEHIND_STREAMS];
    uint64_t loose;  /* bits of the streams that are not ordered with the legacy stream */
    uint64_t others; /* the largest number of the streams that are */
    struct sl_behind_event {
        const void *event;
        uint64_t number, ordered;                       /* as of a stream */
    } events[SL_BEHIND_EVENTS], kept[SL_BEHIND_EVENTS]; /* open addressing; copy for its rebuild */
    uint32_t event_count;
    uint64_t forgotten; /* the largest number of events that found no room */
};

/* A stream as numbered by streams.h. `loose`: it is not ordered with the legacy stream. */
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

/* A collective is about to be launched, and sl_behind_launched was called for it, or it was refused. */
static inline void sl_behind_begins(struct sl_behind *behind)
{
    atomic_fetch_add(&behind->launching, 1);
}
static inline void sl_behind_ends(struct sl_behind *behind)
{
    atomic_fetch_sub(&behind->launching, 1);
}
/* A collective was launched on the stream. Enqueues. */
void sl_behind_launched(struct sl_behind *behind, const struct sl_behind_stream *stream);
/* The program recorded `event` on the stream, or made the stream wait for it. */
void sl_behind_recorded(struct sl_behind *behind, const struct sl_behind_stream *stream, const void *event);
void sl_behind_waits(struct sl_behind *behind, const struct sl_behind_stream *stream, const void *event);
/* The program destroys the event; what has its handle next is not known to lie behind anything. */
void sl_behind_destroyed(struct sl_behind *behind, const void *event);
/* Whether the event lies behind a collective of this core that is not over. May ask the driver. */
bool sl_behind_is_event(struct sl_behind *behind, const void *event);
/* The program waited for all work submitted before. */
void sl_behind_synchronized(struct sl_behind *behind);

/* The number of the last collective in front of further work in stream number `s`; 0: none. */
uint64_t sl_behind_number(struct sl_behind *behind, uint32_t s);
/* Whether all collectives up to this number are over. May ask the driver. */
bool sl_behind_is_over(struct sl_behind *behind, uint64_t number);
/* The number of the last collective in front of further work in the stream with this serial; 0: in any
 * stream. */
uint64_t sl_behind_stream_number(struct sl_behind *behind, uint64_t serial);
/* Whether further work in that stream comes behind the collective with this number anyway, as the program has
 * ordered it. False: not known. */
bool sl_behind_orders(struct sl_behind *behind, uint64_t serial, uint64_t number);
/* Whether further work in the stream lies behind a collective that is not over. May ask the driver. */
static inline bool sl_behind_is(struct sl_behind *behind, uint64_t serial)
{
    return !sl_behind_is_over(behind, sl_behind_stream_number(behind, serial));
}

#endif
