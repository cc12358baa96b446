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

/* Whether work in stream number `s` must be made to wait for movement `sequence` first. The caller then does
 * so. */
bool sl_core_must_join(struct sl_core *core, uint32_t s, struct sl_direction *direction, uint64_t sequence);

/* Those of `streams` on which the calling thread can record an event: at most SL_STREAMS, in *list. None
 * while one of them may be held up, see sl_mover_is_held. Returns their count. */
struct sl_fence_stream {
    sl_stream handle;
    uint32_t number;
};
uint32_t sl_core_fence_streams(struct sl_core *core, uint64_t streams, struct sl_fence_stream *list);
/* Records into `fence` what was submitted to them until now: enqueues. The order lock must not be held. */
void sl_fence_record(const struct sl_backend *backend, struct sl_fence *fence,
                     const struct sl_fence_stream *list, uint32_t count);

/* The streams that have work, as far as the program has not waited for all of it. */
struct sl_active {
    uint32_t count, captured_count;
    sl_event_handle captured[SL_STREAMS]; /* of those that capture: behind what they were given before */
    struct sl_free_stream streams[];      /* of the others */
};
/* NULL: no memory. Freed with free(). */
struct sl_active *sl_core_active(struct sl_core *core);

/* Points behind everything that was submitted to any stream until now: NULL where all of it is done.
 * Enqueues; the order lock must not be held. What streams were given before they began to capture, or were
 * destroyed, is waited for on the host. */
struct sl_points *sl_core_points(struct sl_core *core);

#endif
