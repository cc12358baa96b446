/* Virtual memory management on memory of ours: the reserved addresses, the memory made by cuMemCreate, and
 * its mappings.
 *
 * New memory has no place. The first mapping at addresses of ours makes it an allocation of the core. If the
 * program needs it for anything else before that, the driver's handle replaces it and calls pass through. An
 * allocation never moves: after unmapping it is kept while a handle is held, and can be mapped at the same
 * place only. This file keeps the records; hooks_mapping.c asks the core and the driver, and holds no lock
 * meanwhile. Thread-safe. */
#ifndef SLUICE_SHIM_MAPPING_H
#define SLUICE_SHIM_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

/* Our handles are not addresses, so they cannot equal handles of the driver. */
#define SL_OUR_HANDLES ((uint64_t)1 << 63)

static inline bool sl_handle_is_ours(CUmemGenericAllocationHandle handle)
{
    return (handle & SL_OUR_HANDLES) != 0;
}

/* --- addresses */

/* Records addresses from the core. False: out of host memory. */
bool sl_reservation_made(uint64_t address, uint64_t bytes);
/* Whether `address` lies in a reservation of ours. */
bool sl_reservation_holds(uint64_t address);
/* False: the range was not reserved as such, or something is mapped there. Call it again while *kept is not
 * 0: *kept is an allocation there that can no longer be mapped. Then the reservation is gone. */
bool sl_reservation_end(uint64_t address, uint64_t bytes, uint64_t *kept);

/* --- memory */

/* False: out of host memory. */
bool sl_memory_made(uint64_t bytes, const CUmemAllocationProp *properties,
                    CUmemGenericAllocationHandle *handle);
/* Another handle to the memory mapped at `address`. False: nothing is mapped. */
bool sl_memory_retained(uint64_t address, CUmemGenericAllocationHandle *handle);
/* False: unknown handle, here and below. */
bool sl_memory_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp *properties);

/* What to release when neither a handle nor a mapping holds the memory any more: one of the members, or
 * nothing yet. */
struct sl_memory_end {
    uint64_t address;                     /* of the allocation */
    uint64_t promised_bytes;              /* bytes that never became an allocation */
    CUdevice device;                      /* the device of the memory */
    CUmemGenericAllocationHandle drivers; /* the driver's handle that replaces it */
};
bool sl_memory_released(CUmemGenericAllocationHandle handle, struct sl_memory_end *end);

/* The relation of memory of ours to the driver. */
struct sl_memory_standing {
    CUmemGenericAllocationHandle drivers; /* the driver's handle that replaces it; 0: none */
    bool may_become;                      /* never mapped: the driver's memory can replace it */
    uint64_t bytes;
    CUmemAllocationProp properties;
};
bool sl_memory_standing(CUmemGenericAllocationHandle handle, struct sl_memory_standing *standing);
/* `drivers` replaces it from this call on. False: it was mapped meanwhile, or has been replaced. */
bool sl_memory_becomes(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle drivers);

/* --- mappings */

enum sl_mapping {
    SL_MAPPING_NEW,     /* the core has to make it */
    SL_MAPPING_AGAIN,   /* the allocation still lies there */
    SL_MAPPING_WRONG,   /* not in one reservation, overlaps a mapping, or exceeds the memory */
    SL_MAPPING_SECOND,  /* the allocation lies at another place, or another one is kept at this place */
    SL_MAPPING_FOREIGN, /* the driver's memory */
    SL_MAPPING_UNNOTED, /* out of host memory */
};
/* Records a mapping at addresses of ours. *promised_bytes: of SL_MAPPING_NEW, the bytes promised for it. */
enum sl_mapping sl_mapping_begin(uint64_t address, uint64_t bytes, CUmemGenericAllocationHandle handle,
                                 uint64_t *promised_bytes);
/* The core could not make the new mapping at `address`. */
void sl_mapping_failed(uint64_t address);

/* Whether [address, address + bytes) consists of whole mappings. */
bool sl_mappings_fill(uint64_t address, uint64_t bytes);
/* Ends the mapping that begins at `address`; *bytes is its length. True: no handle is held, so free the
 * allocation; false: it is kept. Precondition: a mapping begins there. */
bool sl_mapping_end(uint64_t address, uint64_t *bytes);

/* Sets the device's access. Precondition: sl_mappings_fill. */
void sl_mappings_allow(uint64_t address, uint64_t bytes, unsigned long long access);
/* False: nothing is mapped at `address`. */
bool sl_mapping_access(uint64_t address, unsigned long long *access);

/* For the child after fork. */
void sl_mappings_after_fork(void);

#endif
