/* Order between streams that holds even if the driver refuses. */
#ifndef SLUICE_ORDERING_H
#define SLUICE_ORDERING_H

#include "device/backend.h"

/* If the driver refuses the wait or the record, these wait on the host instead: without the order there would
 * be a race. Any thread. */
void sl_wait_event(const struct sl_backend *backend, sl_stream stream, sl_event_handle event);
enum sl_status sl_record_event(const struct sl_backend *backend, sl_event_handle event, sl_stream stream);

#endif
