/* Memory pools whose memory can be ours: device memory of the managed device that is not for other processes.
 * Each has a number, which is its allocations' tag in the core and outlives the pool as long as they do. The
 * driver's pool stays beside it, with its own attributes, for what graphs and other contexts take.
 * Thread-safe.
 */
#ifndef SLUICE_SHIM_POOLS_H
#define SLUICE_SHIM_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

/* The program made a pool on `device`; `max_bytes` 0: without a limit. False: there is no host memory to
 * remember it by. */
bool sl_pool_made(CUmemoryPool handle, CUdevice device, uint64_t max_bytes);
void sl_pool_destroyed(CUmemoryPool handle);

/* The pool's number; 0 where its memory is not ours; SL_NONE without host memory. pre: the session is on. */
uint32_t sl_pool_number(CUmemoryPool handle);

/* That of the managed device's current pool, likewise. */
uint32_t sl_pool_current(void);
/* To be called after the program chose another one. */
void sl_pool_current_changed(void);

/* Counts an allocation of the pool. False: the pool may not grow so large. */
bool sl_pool_take(uint32_t number, uint64_t bytes);
/* Takes it back; also after the pool was destroyed. Number 0 is no pool. */
void sl_pool_give(uint32_t number, uint64_t bytes);

/* The pool with this number, or NULL: there is none, or it was destroyed. */
CUmemoryPool sl_pool_handle(uint32_t number);

/* Our part of one of the attributes that count bytes; 0 for any other. What is freed leaves the pool at once,
 * so our part of what a pool reserves is what is used of it. */
uint64_t sl_pool_bytes(CUmemoryPool handle, CUmemPool_attribute attribute);
/* A high-water mark goes down to what is used; other attributes are left alone. */
void sl_pool_reset_high(CUmemoryPool handle, CUmemPool_attribute attribute);

/* The child's part of fork. */
void sl_pools_after_fork(void);

#endif
