/* Numbers the program's streams, 0 to SL_SHARED_STREAM, so that a set of streams fits in one word. Caller
 * holds the order lock. */
#ifndef SLUICE_STREAMS_H
#define SLUICE_STREAMS_H

#include "move/migrator.h"

/* CU_STREAM_PER_THREAD: another stream in each thread. */
#define SL_STREAM_PER_THREAD ((sl_stream)2)

struct sl_streams {
    struct sl_lock *order;
    struct sl_migrator *migrator;
    struct sl_frees *frees;
    struct sl_known_stream {
        sl_stream handle;
        uint64_t serial; /* unique: no other stream has it or had it */
        uint64_t thread; /* the thread whose default stream it is; 0: it is not a thread's own */
        uint64_t joined_out, joined_in; /* the last movement of each direction that it waited for */
    } known[SL_SHARED_STREAM];
    sl_event_handle
        before_capture[SL_SHARED_STREAM]; /* event behind the stream's work before its capture; or NULL */
    uint64_t serials;                     /* number of serials given so far */
    uint32_t count;
    uint32_t last;   /* the number asked for last */
    sl_stream *more; /* streams without a number of their own */
    uint32_t more_count, more_capacity;
    uint64_t uncovered; /* bits of the streams whose work before their capture has no event */
    bool unlisted;      /* a stream is neither in `known` nor in `more` */
    /* Bits of the streams used since the program last waited for its whole context. Written under the order
     * lock, by the functions below. */
    _Atomic uint64_t active;
    struct sl_waits gone;             /* events behind work of streams destroyed since then */
    _Atomic int captures;             /* stream captures under way or about to begin, in the process */
    _Atomic uint64_t capture_ends;    /* how often a capture was about to end */
    _Atomic bool captured_collective; /* a collective was captured into a graph at some time */
    _Atomic uint32_t beginning;       /* calls under way that may make a stream capture */
};

/* The serial of stream number `s`; 0: several streams share the number. */
static inline uint64_t sl_stream_serial(const struct sl_streams *streams, uint32_t s)
{
    return s == SL_SHARED_STREAM ? 0 : streams->known[s].serial;
}

/* The number of a stream; CU_STREAM_PER_THREAD is the calling thread's. */
uint32_t sl_stream_number(struct sl_streams *streams, sl_stream stream);

/* Notes that work in stream number `s` waits for fetch `sequence`. Returns whether the caller has to enqueue
 * that wait: once for each stream. Only to save time: another thread that launches on the stream meanwhile
 * does not wait. */
bool sl_stream_note_join(struct sl_streams *streams, uint32_t s, uint64_t sequence);

/* The streams of the set `numbers` on which the calling thread can record an event: at most SL_STREAMS, in
 * *list. None while a stream may be held up (sl_migrator_is_held). Returns their count. */
struct sl_fence_stream {
    sl_stream handle;
    uint32_t number;
    uint64_t capture_ends; /* before the stream was asked whether it captures */
};
uint32_t sl_streams_to_fence(struct sl_streams *streams, uint64_t numbers, struct sl_fence_stream *list);
/* Records into `fence` the work submitted to the listed streams so far. Enqueues: the order lock must not be
 * held. */
void sl_fence_record(struct sl_streams *streams, struct sl_fence *fence, const struct sl_fence_stream *list,
                     uint32_t count);

/* Points behind all work submitted to any stream so far; NULL: all of it is done. They are unsure if the
 * driver does not answer. Work that streams got before they began to capture or were destroyed is waited for
 * on the host. Enqueues: the order lock must not be held. */
struct sl_points *sl_streams_points(struct sl_streams *streams);

/* Stream number `s` gets work; the number is not reused until the program has waited for its whole context.
 * Precondition: the order lock is held. */
static inline void sl_stream_is_used(struct sl_streams *streams, uint32_t s)
{
    uint64_t before = atomic_load_explicit(&streams->active, memory_order_relaxed);
    atomic_store_explicit(&streams->active, before | (uint64_t)1 << s, memory_order_relaxed);
}
/* Whether any stream was used since the program last waited for its whole context. Any thread. */
static inline bool sl_streams_any_used(const struct sl_streams *streams)
{
    return atomic_load_explicit(&streams->active, memory_order_relaxed);
}
/* Whether any stream may have work. Precondition: the order lock is held. */
static inline bool sl_streams_any_work(const struct sl_streams *streams)
{
    return sl_streams_any_used(streams) || sl_waits_any(&streams->gone);
}
/* All work of all streams is done. Precondition: the order lock is held. */
void sl_streams_are_idle(struct sl_streams *streams);

/* The program destroys the stream, whose work goes on without a handle. No other thread uses the handle when
 * this returns. */
void sl_stream_gone(struct sl_streams *streams, sl_stream stream);
/* The program may begin to capture on the stream. Enqueues, as the previous two functions do: the order lock
 * must not be held. */
void sl_stream_may_capture(struct sl_streams *streams, sl_stream stream);
/* Between these two, behind sl_stream_may_capture, the driver's call begins the capture, and the calling
 * thread does nothing else. No other thread waits for a stream meanwhile, since that would end the capture.
 * The order lock must not be held. */
void sl_streams_capture_begins(struct sl_streams *streams);
void sl_streams_capture_begun(struct sl_streams *streams);

#endif
