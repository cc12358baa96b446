/* What memory is left for the program, of the host and of the device, and memory of the device that is used
 * past the core. Thread-safe; unless said otherwise, no lock of a core may be held. */
#ifndef SLUICE_ROOM_H
#define SLUICE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct sl_arena;
struct sl_core;

/* --- host memory of all cores together, and what the program sees of it */

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

/* --- which of the process's managed memory has host pages */

struct sl_host_pages {
    uint64_t bytes; /* that have host pages */
    bool of_device; /* memory that was never evicted is mapped: the device's memory is host memory */
};

/* Of all cores' arenas, from samples. The usage that the kernel reports includes them. Reads a few thousand
 * page states for each at most. Lock-free. */
struct sl_host_pages sl_host_pages(void);
/* Adds those of an arena; `done`: the last outward movement known to be done. */
void sl_host_pages_add(const struct sl_arena *arena, uint64_t done, struct sl_host_pages *pages);

/* The bytes of [address, address + bytes), host memory, that have no pages yet, from samples. */
uint64_t sl_host_pages_missing(uint64_t address, uint64_t bytes);

/* --- allocations that stay on the device for good, because host memory has no room for them
 *
 * A chunk takes host memory even while it is on the device, because the driver keeps the host's pages. So
 * managed allocations can never exceed the host memory that may be used. Allocations beyond it come from the
 * driver as plain device memory, which is charged to the budget, as long as half of the budget is left for
 * chunks. */

/* Whether to ask the driver for `bytes` bytes that found no room. If so, chunks were evicted to make room,
 * and the bytes stay charged to the budget until the calling thread calls sl_runtime_driver_gave; by then the
 * shim has charged what the driver gave. Waits for the program's work. */
bool sl_device_room_make(struct sl_core *core, uint64_t bytes);

/* The calling thread charges `bytes` bytes: returns how many of them sl_device_room_make has charged
 * already. */
uint64_t sl_device_room_use(uint64_t bytes);

/* --- Device memory that modules take: variables, code, and what the driver reserves for kernels. Only the
 * driver knows how much it is, so its free memory is compared before and after. Thread-safe; no lock of a
 * core may be held. */

struct sl_loading {
    bool on;
    uint64_t free_bytes, known_bytes; /* known: that sluice brought to the device, and that are charged */
    uint64_t expected_bytes;          /* charged until the end */
};

/* A call that may load a module is about to be made. Of at least `expected_bytes` bytes it is known
 * before: chunks are evicted for them, if the budget has so much. */
void sl_runtime_load_begins(struct sl_loading *loading, uint64_t expected_bytes);
/* It was made: the bytes by which the driver's free memory fell for it (or rose, less than 0). Returns the
 * charge of the expected bytes. */
uint64_t sl_runtime_load_ended(const struct sl_loading *loading);

#endif
