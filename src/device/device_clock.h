/* The device's clock, tied to the records' (CLOCK_MONOTONIC): when something happened on the device, for the
 * trace.
 *
 * An anchor is an event whose moment is known. The driver gives the time between two events as a float of
 * milliseconds, and clocks drift, so an anchor is replaced every few seconds: by the host's clock where the
 * stream that it is recorded on is idle, else counted on from the one before. Thread-safe; its lock is the
 * last of all.
 */
#ifndef SLUICE_DEVICE_CLOCK_H
#define SLUICE_DEVICE_CLOCK_H

#include "device/backend.h"

struct sl_device_clock;

/* With a first anchor on `stream`, which is idle. NULL: no memory, or the driver wants no events. */
struct sl_device_clock *sl_device_clock_new(const struct sl_backend *backend, sl_stream stream);
void sl_device_clock_delete(struct sl_device_clock *clock, bool device_gone); /* accepts NULL */

/* Whether it is time for another anchor. */
bool sl_device_clock_is_old(struct sl_device_clock *clock);
/* Records one on `stream`. `idle`: what was given to the stream so far is known to be done. */
void sl_device_clock_anchor(struct sl_device_clock *clock, sl_stream stream, bool idle);

/* When `event`, which is done, was reached: nanoseconds on the records' clock. Asks the driver. */
uint64_t sl_device_clock_when(struct sl_device_clock *clock, sl_event_handle event);

#endif
