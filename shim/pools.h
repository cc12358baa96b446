/* Memory pools whose memory can be ours: device memory of the managed device that is not shared with other
 * processes. Each pool has a number, which is the tag of its allocations in the core and stays valid as long
 * as they live. The driver's pool remains, with its own attributes, for allocations of graphs and other
 * contexts. Thread-safe. */
#ifndef SLUICE_SHIM_POOLS_H
#define SLUICE_SHIM_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

/* The program made a pool on `device`; `max_bytes` 0: without a limit. False: out of host memory. */
bool sl_pool_made(CUmemoryPool handle, CUdevice device, uint64_t max_bytes);
void sl_pool_destroyed(CUmemoryPool handle);

/* The pool's number; 0: its memory is not ours; SL_NONE: out of host memory. Precondition: the session is on.
 */
uint32_t sl_pool_number(CUmemoryPool handle);

/* The same for the managed device's current pool. */
uint32_t sl_pool_current(void);
/* Call it after the program has selected another pool. */
void sl_pool_current_changed(void);

/* Counts an allocation of the pool. False: it would exceed the pool's limit. */
bool sl_pool_take(uint32_t number, uint64_t bytes);
/* Reverts sl_pool_take, also after the pool was destroyed. Number 0 is not a pool. */
void sl_pool_give(uint32_t number, uint64_t bytes);

/* The pool with this number; NULL: there is none, or it was destroyed. */
CUmemoryPool sl_pool_handle(uint32_t number);

/* Our part of an attribute that counts bytes; 0 for any other. Freed memory leaves the pool at once, so our
 * part of the reserved bytes equals that of the used bytes. */
uint64_t sl_pool_bytes(CUmemoryPool handle, CUmemPool_attribute attribute);
/* Resets a high-water mark to the used bytes; leaves other attributes alone. */
void sl_pool_reset_high(CUmemoryPool handle, CUmemPool_attribute attribute);

/* The context of the core ends, and with it the memory that the core gave out for pools of its device. */
void sl_pools_gone(uint32_t core, CUdevice device);

/* For the child after fork. */
void sl_pools_after_fork(void);

#endif
