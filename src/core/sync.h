/* What the program waits for, and the ends of its streams.
 * As in runtime.h, functions are thread-safe and may be called before the start and after the stop, when they
 * own nothing and do nothing. */
#ifndef SLUICE_SYNC_H
#define SLUICE_SYNC_H

#include "base/types.h"
#include "device/backend.h"

/* The program is about to begin a capture on the stream, or to make it wait for something while there is any
 * capture, which may draw it in. What it was given until now counts when memory is freed during the capture.
 */
void sl_runtime_capture_may_begin(sl_stream stream);

/* The program is about to destroy a stream; what it submitted there may still run. */
void sl_runtime_stream_gone(sl_stream stream);

/* Waits, on the host, for what the context's streams were given so far, but for those that capture: what the
 * driver does when memory is freed, without the wait for the context that a capture in another thread
 * forbids. pre: the context is current. */
void sl_runtime_finish(void);

/* The program recorded the event on the stream, or makes the stream wait for it: what lies behind a
 * collective is known by that. Without collectives a load each. */
void sl_runtime_event_recorded(const void *event, sl_stream stream);
void sl_runtime_stream_waits(sl_stream stream, const void *event);

/* The program waits for its whole context (cuCtxSynchronize): the first before the driver's call, the second,
 * with what the first returned, after it succeeded. Everything issued before is then done. */
struct sl_sync_mark {
    sl_tick tick;   /* the last launch that the wait covers, UINT64_MAX: not known */
    uint64_t frees; /* so many that it covers */
};
struct sl_sync_mark sl_runtime_synchronizing(void);
void sl_runtime_synchronized(struct sl_sync_mark before);

#endif
