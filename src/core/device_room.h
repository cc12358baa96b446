/* What host memory has no room for may lie on the device, and stay there.
 *
 * Memory of chunks takes host memory even while it is on the device: the driver keeps the host's pages. So
 * allocations of ours can never be more than the host may hold. Where that is not enough, the driver is to
 * give its own device memory, which is charged to the budget, until half of the budget is left for chunks.
 */
#ifndef SLUICE_DEVICE_ROOM_H
#define SLUICE_DEVICE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct sl_core;

/* Whether the driver is to be asked for `bytes` bytes that had no room. If so, chunks have left the device
 * for them, and they are charged to the budget until the calling thread calls sl_runtime_driver_gave: by then
 * the shim has charged what the driver gave. Waits for the program's work. pre: no lock of the core's is
 * held. */
bool sl_device_room_make(struct sl_core *core, uint64_t bytes);

/* The calling thread charges `bytes` bytes: how much of them is charged by sl_device_room_make already. */
uint64_t sl_device_room_use(uint64_t bytes);

#endif
