/* Order between streams that holds whatever the driver says. */
#ifndef SLUICE_ORDERING_H
#define SLUICE_ORDERING_H

#include "device/backend.h"

/* A wait and a record that the driver refuses are made up for by waiting on the host: they order what would
 * otherwise be a race. Any thread. */
void sl_wait_event(const struct sl_backend *backend, sl_stream stream, sl_event_handle event);
enum sl_status sl_record_event(const struct sl_backend *backend, sl_event_handle event, sl_stream stream);

#endif
