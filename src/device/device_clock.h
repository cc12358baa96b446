/* Maps the device's clock to the records' (CLOCK_MONOTONIC), to give the trace the time of device events.
 *
 * An anchor is an event whose time is known. The driver gives the time between two events as a float of
 * milliseconds, and clocks drift, so an anchor is replaced every few seconds. The new anchor takes its time
 * from the host's clock if its stream is idle, else from the previous anchor. Thread-safe; its lock is the
 * last in the lock order.
 */
#ifndef SLUICE_DEVICE_CLOCK_H
#define SLUICE_DEVICE_CLOCK_H

#include "device/backend.h"

struct sl_device_clock;

/* Records a first anchor on `stream`, which is idle. NULL: out of memory, or the driver refuses events. */
struct sl_device_clock *sl_device_clock_new(const struct sl_backend *backend, sl_stream stream);
void sl_device_clock_delete(struct sl_device_clock *clock, bool device_gone); /* accepts NULL */

/* Whether another anchor is due. */
bool sl_device_clock_is_old(struct sl_device_clock *clock);
/* Records an anchor on `stream`. `idle`: all work given to the stream so far is known to be done. */
void sl_device_clock_anchor(struct sl_device_clock *clock, sl_stream stream, bool idle);

/* The time at which `event`, which is done, was reached: nanoseconds on the records' clock. Queries the
 * driver. */
uint64_t sl_device_clock_when(struct sl_device_clock *clock, sl_event_handle event);

#endif
