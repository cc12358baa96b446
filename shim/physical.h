/* Physical memory of the virtual-memory API: it is there, and charged, while a handle or a mapping holds it.
 * Thread-safe.
 */
#ifndef SLUICE_SHIM_PHYSICAL_H
#define SLUICE_SHIM_PHYSICAL_H

#include <stdbool.h>
#include <stdint.h>

/* A handle was made to device memory of the managed device. `bytes` 0: it is another process's memory, whose
 * size shows when it is mapped, and is charged from then on. */
void sl_physical_made(uint64_t handle, uint64_t bytes);
/* A handle to what is mapped at `address` was given out; it may have been given out before. */
void sl_physical_retained(uint64_t handle, uint64_t address);
/* Handles that are not known are left alone, here and below. */
void sl_physical_released(uint64_t handle);

/* Whether a handle is held to memory that is mapped nowhere. */
bool sl_physical_any_unmapped(void);

/* False: the handle is not known. */
bool sl_physical_mapped(uint64_t address, uint64_t bytes, uint64_t handle);
/* All mappings in [address, address + bytes) are gone. */
void sl_physical_unmapped(uint64_t address, uint64_t bytes);

/* The child's part of fork. */
void sl_physical_after_fork(void);

#endif
