/* The program's waits, and the ends of its streams. As in runtime.h, functions are thread-safe and may be
 * called before the start and after the stop, when they own nothing and do nothing. */
#ifndef SLUICE_SYNC_H
#define SLUICE_SYNC_H

#include "base/types.h"
#include "device/backend.h"

struct sl_core;

/* The program is about to begin a capture on the stream, or to make the stream wait while a capture is under
 * way, which may draw the stream in. Notes the stream's work so far, which a free during the capture has to
 * wait for. */
void sl_runtime_capture_may_begin(sl_stream stream);

/* Around the driver's call behind that: no other thread waits for a stream meanwhile. The calling thread does
 * nothing else, and is not cancelled. */
struct sl_capture_begin {
    struct sl_core *core;
    int cancel_state;
};
struct sl_capture_begin sl_runtime_capture_begins(void);
void sl_runtime_capture_begun(struct sl_capture_begin begin);

/* The program is about to destroy a stream, whose work may still run. */
void sl_runtime_stream_gone(sl_stream stream);

/* Waits on the host for all work of the context's streams so far, except streams that capture. The driver
 * does the same when memory is freed, but by waiting for the context, which a capture in another thread
 * forbids. Precondition: the context is current. SL_ERR_DRIVER: some work may not be done. */
enum sl_status sl_runtime_finish(void);

/* Whether the thread's core knows that the program gave its context no work since it last waited for all of
 * it, and that this wait succeeded. Takes no lock. */
bool sl_runtime_is_quiet(void);

/* Makes the stream, or else the host, wait for the event; puts the event behind the stream's work, or else
 * waits for that. Events are cuEventCreate's. SL_ERR_DRIVER: nothing is in order. */
enum sl_status sl_runtime_order(sl_stream stream, sl_event_handle event);
enum sl_status sl_runtime_record(sl_event_handle event, sl_stream stream);

/* The program recorded the event on the stream, or makes the stream wait for it. This tells which work lies
 * behind a collective. Without collectives each costs a load. */
void sl_runtime_event_recorded(const void *event, sl_stream stream);
void sl_runtime_event_destroyed(const void *event); /* another one may get its handle */
void sl_runtime_stream_waits(sl_stream stream, const void *event);

/* Around the program's cuCtxSynchronize: call the first before the driver's call, and the second with its
 * result after the call succeeded. All work issued before is then done. */
struct sl_sync_mark {
    sl_tick tick;   /* the last launch that the wait covers; UINT64_MAX: unknown */
    uint64_t frees; /* the number of frees that it covers */
};
struct sl_sync_mark sl_runtime_synchronizing(void);
void sl_runtime_synchronized(struct sl_sync_mark before);

#endif
