/* The program's streams as the core numbers them, 0 to SL_SHARED_STREAM, so that a set of them is a word of
 * bits. Caller holds the order lock. */
#ifndef SLUICE_STREAMS_H
#define SLUICE_STREAMS_H

#include "mover.h"

struct sl_core;

/* CU_STREAM_PER_THREAD: a stream of its own for each thread that names it. */
#define SL_STREAM_PER_THREAD ((sl_stream)2)

/* The number of a stream, as the calling thread names it. */
uint32_t sl_core_stream(struct sl_core *core, sl_stream stream);

/* Whether work in stream number `s` is to wait for fetch `sequence` first. The caller then does so. For speed
 * alone: another thread that launches on the stream meanwhile does not. */
bool sl_core_must_join(struct sl_core *core, uint32_t s, uint64_t sequence);

/* How often stream number `s` was about to capture, and captures ended, until now. */
struct sl_capture_mark {
    uint32_t may_capture;
    uint64_t ended;
};
struct sl_capture_mark sl_core_capture_mark(struct sl_core *core, uint32_t s);

/* Those of `streams` on which the calling thread can record an event: at most SL_STREAMS, in *list. None
 * while one of them may be held up, see sl_mover_is_held. Returns their count. */
struct sl_fence_stream {
    sl_stream handle;
    uint32_t number;
    struct sl_capture_mark mark;
};
uint32_t sl_core_fence_streams(struct sl_core *core, uint64_t streams, struct sl_fence_stream *list);
/* Records into `fence` what was submitted to them until now: enqueues. The order lock must not be held. */
void sl_fence_record(struct sl_core *core, struct sl_fence *fence, const struct sl_fence_stream *list,
                     uint32_t count);

/* Points behind everything that was submitted to any stream until now: NULL where all of it is done.
 * Enqueues; the order lock must not be held. What streams were given before they began to capture, or were
 * destroyed, is waited for on the host. */
struct sl_points *sl_core_points(struct sl_core *core);

#endif
