/* Physical memory of the virtual-memory API: it exists, and is charged, while a handle or a mapping holds it.
 * Thread-safe. */
#ifndef SLUICE_SHIM_PHYSICAL_H
#define SLUICE_SHIM_PHYSICAL_H

#include <stdbool.h>
#include <stdint.h>

/* A handle to device memory of the managed device was made. `bytes` 0: memory of another process; it is
 * charged from its first mapping on, which shows its size. */
void sl_physical_made(uint64_t handle, uint64_t bytes);
/* A handle to the memory mapped at `address` was returned, possibly not for the first time. */
void sl_physical_retained(uint64_t handle, uint64_t address);
/* Unknown handles are ignored, here and below. */
void sl_physical_released(uint64_t handle);

/* Whether a handle holds memory that is mapped nowhere. */
bool sl_physical_any_unmapped(void);

/* False: the handle is unknown. */
bool sl_physical_mapped(uint64_t address, uint64_t bytes, uint64_t handle);
/* All mappings in [address, address + bytes) were removed. */
void sl_physical_unmapped(uint64_t address, uint64_t bytes);

/* For the child after fork. */
void sl_physical_after_fork(void);

#endif
