/* Virtual memory management: reserved addresses, physical memory, and mappings of the one into the other.
 *
 * Physical memory is a sealed memory file, so that it may be mapped several times and handed to other
 * processes. A mapping that no access was granted to is invisible to kernels and copies. pre: the driver's
 * lock is held, everywhere.
 */
#ifndef SOFTCUDA_VMM_H
#define SOFTCUDA_VMM_H

#include "driver.h"

#define SC_VMM_GRANULARITY (UINT64_C(2) << 20)

struct sc_physical;

/* Takes device memory; `exportable` says whether it may be handed out. The result is a handle. */
CUresult sc_physical_create(uint64_t bytes, const CUmemAllocationProp *properties, struct sc_physical **out);
/* Another process's memory by its file descriptor, which the caller keeps. It is charged there, not here. */
CUresult sc_physical_import(int descriptor, struct sc_physical **out);
/* One handle less; the memory goes with the last handle and mapping. */
void sc_physical_release(struct sc_physical *physical);
const CUmemAllocationProp *sc_physical_properties(const struct sc_physical *physical);
/* A file descriptor that the caller owns, or -1. */
int sc_physical_export(const struct sc_physical *physical);
/* A handle more, for the memory mapped at `address`; NULL where there is none. */
struct sc_physical *sc_physical_at(uint64_t address);

/* `align` is a power of two, `hint` may be 0. Returns 0 when addresses ran out. */
uint64_t sc_vmm_reserve(uint64_t bytes, uint64_t align, uint64_t hint);
/* The whole of a reservation without mappings, or CUDA_ERROR_INVALID_VALUE. */
CUresult sc_vmm_free(uint64_t address, uint64_t bytes);
CUresult sc_vmm_map(uint64_t address, uint64_t bytes, struct sc_physical *physical);
/* Whole mappings, next to each other. Waits for what runs now, not for what is queued. */
CUresult sc_vmm_unmap(uint64_t address, uint64_t bytes);
CUresult sc_vmm_set_access(uint64_t address, uint64_t bytes, int ordinal, bool access);
/* CUDA_ERROR_INVALID_VALUE where nothing is mapped. */
CUresult sc_vmm_get_access(uint64_t address, int ordinal, bool *access);

#endif
