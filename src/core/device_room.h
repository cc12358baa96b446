/* Keeps allocations on the device for good if host memory has no room for them.
 *
 * A chunk takes host memory even while it is on the device, because the driver keeps the host's pages. So
 * managed allocations can never exceed the host memory that may be used. Allocations beyond it come from the
 * driver as plain device memory, which is charged to the budget, as long as half of the budget is left for
 * chunks.
 */
#ifndef SLUICE_DEVICE_ROOM_H
#define SLUICE_DEVICE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct sl_core;

/* Whether to ask the driver for `bytes` bytes that found no room. If so, chunks were evicted to make room,
 * and the bytes stay charged to the budget until the calling thread calls sl_runtime_driver_gave; by then the
 * shim has charged what the driver gave. Waits for the program's work. Precondition: no lock of the core is
 * held. */
bool sl_device_room_make(struct sl_core *core, uint64_t bytes);

/* The most that sl_device_room_make would make room for now. Caller holds the order lock. */
uint64_t sl_device_room_most(const struct sl_core *core);

/* The calling thread charges `bytes` bytes: returns how many of them sl_device_room_make has charged
 * already. */
uint64_t sl_device_room_use(uint64_t bytes);

#endif
