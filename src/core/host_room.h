/* Host memory of all cores together, and what the program sees of it: the free memory of its device, and what
 * it may pin. Thread-safe; no lock of a core may be held. */
#ifndef SLUICE_HOST_ROOM_H
#define SLUICE_HOST_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct sl_core;

/* Answers cuMemGetInfo: the virtual size, less our allocations, promises and charged bytes, but at most what
 * host memory and the device have room for. False: ask the driver. */
bool sl_runtime_memory_info(uint64_t *free_bytes, uint64_t *total_bytes);

/* Gives the program `bytes` bytes of host memory that the driver pins: they are subtracted from what
 * allocations may still get. False: host memory would not suffice for what it has allocated on the device,
 * and the kernel would end it. */
bool sl_runtime_take_pinnable(uint64_t bytes);
/* The same for memory of the program that the driver is about to pin, as far as it has no pages yet. */
bool sl_runtime_take_registrable(uint64_t address, uint64_t bytes);

/* `core` found no room, or, NULL, the program that wants to pin memory. True: other cores, or all, gave up
 * what they claimed and do not use, so try again. */
bool sl_host_room_collect(const struct sl_core *core);

/* The number of known devices on the link of this core's device, itself included: other processes' and this
 * one's. Makes some system calls. */
uint32_t sl_host_room_link_sharers(const struct sl_core *core);

#endif
