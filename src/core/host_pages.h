/* Which of the process's managed memory has host pages. */
#ifndef SLUICE_HOST_PAGES_H
#define SLUICE_HOST_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct sl_arena;

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

#endif
