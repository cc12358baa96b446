/* The program's streams as the core numbers them, 0 to SL_SHARED_STREAM, so that a set of them is a word of
 * bits. Caller holds the order lock. */
#ifndef SLUICE_STREAMS_H
#define SLUICE_STREAMS_H

#include "move/migrator.h"

/* CU_STREAM_PER_THREAD: a stream of its own for each thread that names it. */
#define SL_STREAM_PER_THREAD ((sl_stream)2)

struct sl_streams {
    struct sl_lock *order;
    struct sl_migrator *migrator;
    struct sl_frees *frees;
    struct sl_known_stream {
        sl_stream handle;
        uint64_t serial;                /* no other stream has or had it */
        uint64_t thread;                /* whose default stream it is; 0: any thread's */
        uint64_t joined_out, joined_in; /* the last movement of each direction that it waited for */
    } known[SL_SHARED_STREAM];
    sl_event_handle
        before_capture[SL_SHARED_STREAM]; /* what a stream that captures was given before; or NULL */
    uint64_t serials;                     /* given so far */
    uint32_t count;
    uint32_t last;   /* the one asked for last */
    sl_stream *more; /* that found no number of their own */
    uint32_t more_count, more_capacity;
    uint64_t active;      /* bits of those used since the program last waited for its whole context */
    struct sl_waits gone; /* what streams that are gone left behind since then */
    _Atomic int captures; /* stream captures under way in the process, or about to be */
    _Atomic uint64_t captures_ended;
    _Atomic uint32_t may_capture[SL_STREAMS]; /* how often a stream was about to capture, by number */
};

/* The serial of stream number `s`; 0 where it is not one stream's. */
static inline uint64_t sl_stream_serial(const struct sl_streams *streams, uint32_t s)
{
    return s == SL_SHARED_STREAM ? 0 : streams->known[s].serial;
}

/* The number of a stream, as the calling thread names it. */
uint32_t sl_stream_number(struct sl_streams *streams, sl_stream stream);

/* Whether work in stream number `s` is to wait for fetch `sequence` first. The caller then does so. For speed
 * alone: another thread that launches on the stream meanwhile does not. */
bool sl_stream_must_join(struct sl_streams *streams, uint32_t s, uint64_t sequence);

/* How often stream number `s` was about to capture, and captures ended, until now. */
struct sl_capture_mark {
    uint32_t may_capture;
    uint64_t ended;
};
struct sl_capture_mark sl_stream_capture_mark(struct sl_streams *streams, uint32_t s);

/* Those of the streams `numbers` on which the calling thread can record an event: at most SL_STREAMS, in
 * *list. None while one of them may be held up, see sl_migrator_is_held. Returns their count. */
struct sl_fence_stream {
    sl_stream handle;
    uint32_t number;
    struct sl_capture_mark mark;
};
uint32_t sl_streams_to_fence(struct sl_streams *streams, uint64_t numbers, struct sl_fence_stream *list);
/* Records into `fence` what was submitted to them until now: enqueues. The order lock must not be held. */
void sl_fence_record(struct sl_streams *streams, struct sl_fence *fence, const struct sl_fence_stream *list,
                     uint32_t count);

/* Points behind everything that was submitted to any stream until now: NULL where all of it is done.
 * Enqueues; the order lock must not be held. What streams were given before they began to capture, or were
 * destroyed, is waited for on the host. */
struct sl_points *sl_streams_points(struct sl_streams *streams);

/* The program destroys the stream: what it was given goes on after its handle is dead. */
void sl_stream_gone(struct sl_streams *streams, sl_stream stream);
/* The program may begin to capture on the stream. Enqueues, as the last two do: the order lock must not be
 * held. */
void sl_stream_may_capture(struct sl_streams *streams, sl_stream stream);

#endif
