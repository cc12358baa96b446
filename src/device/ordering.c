#include "device/ordering.h"

void sl_wait_event(const struct sl_backend *backend, sl_stream stream, sl_event_handle event)
{
    if (backend->stream_wait(backend->self, stream, event)) backend->event_wait(backend->self, event);
}

enum sl_status sl_record_event(const struct sl_backend *backend, sl_event_handle event, sl_stream stream)
{
    enum sl_status status = backend->event_record(backend->self, event, stream);
    if (status) backend->stream_finish(backend->self, stream);
    return status;
}
