/* The memory of a simulated device: addresses are invented, and each 2 MiB block has its content nowhere, on
 * the host or on the device. What was evicted has page-table entries for the CPU until it is fetched. One
 * thread at a time. */
#ifndef SLUICE_SIM_MEMORY_H
#define SLUICE_SIM_MEMORY_H

#include "launch/launch.h"
#include "memory/arena.h"

struct sl_sim_memory {
    uint8_t *slabs[SL_MAX_SLABS]; /* a byte for each block */
    bool pinned[SL_MAX_SLABS];    /* stays in host memory */
    uint64_t next_address;
    uint64_t resident_bytes;
    /* If the driver moves memory: the device's size, and the blocks in the order in which they came. */
    uint64_t device_bytes;
    uint64_t *order;
    size_t order_first, order_count, order_room; /* room: 0 or a power of two */
};

void sl_sim_memory_init(struct sl_sim_memory *memory, uint64_t device_bytes);
void sl_sim_memory_close(struct sl_sim_memory *memory);

/* Like slab_new and slab_delete in struct sl_backend, or like pinned_new and pinned_delete if `pinned`. */
enum sl_status sl_sim_slab_new(struct sl_sim_memory *memory, uint64_t bytes, bool pinned, uint64_t *address);
bool sl_sim_is_pinned(const struct sl_sim_memory *memory, uint64_t address);
void sl_sim_slab_delete(struct sl_sim_memory *memory, uint64_t address, uint64_t bytes);

/* What a movement does, in blocks. */
struct sl_sim_moved {
    uint32_t copied;
    uint32_t mapped, unmapped, remapped; /* the CPU's page-table entries: made, removed, there already */
};

/* Move whole blocks. Blocks that are already there, or have no content, are not copied. Return the copied
 * bytes; *moved (may be NULL) is set. */
uint64_t sl_sim_fetch(struct sl_sim_memory *memory, uint64_t address, uint64_t bytes,
                      struct sl_sim_moved *moved);
uint64_t sl_sim_evict(struct sl_sim_memory *memory, uint64_t address, uint64_t bytes,
                      struct sl_sim_moved *moved);
void sl_sim_discard(struct sl_sim_memory *memory, uint64_t address, uint64_t bytes);

struct sl_sim_use {
    uint64_t in, out; /* bytes over the link */
    uint64_t faults;  /* blocks fetched */
};

/* The device uses memory where it is. Adds to *use. */
void sl_sim_use_remote(struct sl_sim_memory *memory, const struct sl_span *span, struct sl_sim_use *use);
/* The same, but blocks that are not on the device are fetched, and replace the oldest ones, as in unmanaged
 * unified memory. False: out of memory. */
bool sl_sim_use_paged(struct sl_sim_memory *memory, const struct sl_span *span, struct sl_sim_use *use);

#endif
