/* Order between streams that holds even if the driver refuses now and then. Any thread.
 *
 * Each function tries what has the same effect, some times. SL_ERR_DRIVER: nothing is ordered, and nothing is
 * known to be done. Callers then keep what they would have given out. */
#ifndef SLUICE_ORDERING_H
#define SLUICE_ORDERING_H

#include "device/backend.h"

/* Makes the stream, or else the host, wait for the event. */
enum sl_status sl_wait_event(const struct sl_backend *backend, sl_stream stream, sl_event_handle event);
/* The same for a stream that may capture: rather the host than the stream, which would take the wait into its
 * capture. */
enum sl_status sl_wait_beside(const struct sl_backend *backend, sl_stream stream, sl_event_handle event);
/* Makes the host wait for the event, or for all work of the stream. */
enum sl_status sl_wait_host(const struct sl_backend *backend, sl_event_handle event);
enum sl_status sl_finish_stream(const struct sl_backend *backend, sl_stream stream);
/* Records the event, or else waits on the host for the stream. The event then stands for work that is done or
 * for earlier work of another stream. */
enum sl_status sl_record_event(const struct sl_backend *backend, sl_event_handle event, sl_stream stream);

#endif
