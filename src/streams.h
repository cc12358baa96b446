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

/* Records into `fence` what was submitted until now to each of `streams` that captures nothing. */
void sl_core_record_fence(struct sl_core *core, struct sl_fence *fence, uint64_t streams);

#endif
