/* Virtual memory management: reserved addresses, physical memory, and mappings of the latter into the former.
 *
 * Physical memory is a sealed memory file, so that it can be mapped several times and passed to other
 * processes. A mapping without granted access is invisible to kernels and copies. pre: the driver's lock is
 * held, everywhere.
 */
#ifndef SOFTCUDA_VMM_H
#define SOFTCUDA_VMM_H

#include "driver.h"

#define SC_VMM_GRANULARITY (UINT64_C(2) << 20)

struct sc_physical;

/* Allocates device memory and returns a handle to it. */
CUresult sc_physical_create(uint64_t bytes, const CUmemAllocationProp *properties, struct sc_physical **out);
/* Imports another process's memory by its file descriptor, which the caller keeps. It is charged to the
 * process that created it, not to this one. */
CUresult sc_physical_import(int descriptor, struct sc_physical **out);
/* Drops a handle. The memory is freed with its last handle and mapping. */
void sc_physical_release(struct sc_physical *physical);
const CUmemAllocationProp *sc_physical_properties(const struct sc_physical *physical);
/* A file descriptor that the caller owns, or -1. */
int sc_physical_export(const struct sc_physical *physical);
/* Adds a handle for the memory that is mapped at `address`; NULL if nothing is mapped there. */
struct sc_physical *sc_physical_at(uint64_t address);

/* `align` is a power of two, `hint` may be 0. Returns 0 if there are no addresses left. */
uint64_t sc_vmm_reserve(uint64_t bytes, uint64_t align, uint64_t hint);
/* Frees a whole reservation that has no mappings; otherwise returns CUDA_ERROR_INVALID_VALUE. */
CUresult sc_vmm_free(uint64_t address, uint64_t bytes);
CUresult sc_vmm_map(uint64_t address, uint64_t bytes, struct sc_physical *physical);
/* Unmaps whole, adjacent mappings. Waits for running operations, not for queued ones. */
CUresult sc_vmm_unmap(uint64_t address, uint64_t bytes);
CUresult sc_vmm_set_access(uint64_t address, uint64_t bytes, int ordinal, bool access);
/* CUDA_ERROR_INVALID_VALUE if nothing is mapped there. */
CUresult sc_vmm_get_access(uint64_t address, int ordinal, bool *access);

#endif
