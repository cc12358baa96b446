#include "device/backend.h"

#include <sched.h>

enum { TRIES = 32 };

/* Ends when the event has passed or the driver has refused TRIES times: an event that is known to be ahead is
 * waited for as long as it takes. */
enum sl_status sl_wait_host(const struct sl_backend *backend, sl_event_handle event)
{
    for (int refused = 0; refused < TRIES;) {
        if (backend->event_wait(backend->self, event) == SL_OK) return SL_OK;
        struct sl_answer done = backend->event_done(backend->self, event);
        if (sl_is_yes(done)) return SL_OK;
        refused += !sl_is_no(done);
        sched_yield();
    }
    return SL_ERR_DRIVER;
}

/* An event on the legacy stream lies behind all streams that wait for it, but a wait for the legacy stream
 * need not wait for those: it stands for nothing. */
enum sl_status sl_finish_stream(const struct sl_backend *backend, sl_stream stream)
{
    for (int t = 0; t < TRIES && stream; t++) {
        if (backend->stream_finish(backend->self, stream) == SL_OK) return SL_OK;
        sched_yield();
    }
    return SL_ERR_DRIVER;
}

enum sl_status sl_wait_event(const struct sl_backend *backend, sl_stream stream, sl_event_handle event)
{
    if (backend->stream_wait(backend->self, stream, event) == SL_OK) return SL_OK;
    return sl_wait_host(backend, event);
}

enum sl_status sl_wait_beside(const struct sl_backend *backend, sl_stream stream, sl_event_handle event)
{
    if (sl_wait_host(backend, event) == SL_OK) return SL_OK;
    return backend->stream_wait(backend->self, stream, event);
}

enum sl_status sl_record_event(const struct sl_backend *backend, sl_event_handle event, sl_stream stream)
{
    for (int t = 0; t < TRIES; t++) {
        if (backend->event_record(backend->self, event, stream) == SL_OK) return SL_OK;
        if (stream && backend->stream_finish(backend->self, stream) == SL_OK) return SL_OK;
        sched_yield();
    }
    return SL_ERR_DRIVER;
}
