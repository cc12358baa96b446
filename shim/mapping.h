/* Virtual memory management on memory of ours: the addresses that the program reserved, what it made by
 * cuMemCreate, and what of that is mapped where.
 *
 * Memory is made without a place. The first mapping at addresses of ours makes it an allocation of the
 * core's; where it is wanted for anything else before, the driver's handle stands for it from then on, and it
 * passes through. An allocation lies where it is for good: unmapped, it is kept for as long as a handle is
 * held, and can be mapped at the same place only. Here is the book; hooks_mapping.c asks the core and the
 * driver, and holds no lock meanwhile. Thread-safe.
 */
#ifndef SLUICE_SHIM_MAPPING_H
#define SLUICE_SHIM_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

/* Handles of ours are no addresses, and so no handles of the driver's. */
#define SL_OUR_HANDLES ((uint64_t)1 << 63)

static inline bool sl_handle_is_ours(CUmemGenericAllocationHandle handle)
{
    return (handle & SL_OUR_HANDLES) != 0;
}

/* --- addresses */

/* The core gave these addresses. False: no host memory to note it. */
bool sl_reservation_made(uint64_t address, uint64_t bytes);
/* Whether `address` lies in a reservation of ours. */
bool sl_reservation_holds(uint64_t address);
/* False: that is not what was reserved, or something is mapped there. To be called again for as long as *kept
 * is not 0: an allocation that lies there, and that nobody can map any more. Then they are gone. */
bool sl_reservation_end(uint64_t address, uint64_t bytes, uint64_t *kept);

/* --- memory */

/* False: no host memory to note it. */
bool sl_memory_made(uint64_t bytes, const CUmemAllocationProp *properties,
                    CUmemGenericAllocationHandle *handle);
/* Another handle to what is mapped at `address`. False: nothing is. */
bool sl_memory_retained(uint64_t address, CUmemGenericAllocationHandle *handle);
/* False: no such handle, here and below. */
bool sl_memory_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp *properties);

/* What is to be given back where neither handle nor mapping holds memory any more: one of these, or nothing
 * yet. */
struct sl_memory_end {
    uint64_t address;                     /* of the allocation */
    uint64_t promised_bytes;              /* that never were one */
    CUdevice device;                      /* whose memory it was to be */
    CUmemGenericAllocationHandle drivers; /* the handle that stands for it */
};
bool sl_memory_released(CUmemGenericAllocationHandle handle, struct sl_memory_end *end);

/* How memory of ours stands to the driver. */
struct sl_memory_standing {
    CUmemGenericAllocationHandle drivers; /* the handle that stands for it; 0: none */
    bool may_become;                      /* never mapped: the driver's memory can take its place */
    uint64_t bytes;
    CUmemAllocationProp properties;
};
bool sl_memory_standing(CUmemGenericAllocationHandle handle, struct sl_memory_standing *standing);
/* `drivers` stands for it from now on. False: it was mapped meanwhile, or another does. */
bool sl_memory_becomes(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle drivers);

/* --- mappings */

enum sl_mapping {
    SL_MAPPING_NEW,     /* to be made in the core */
    SL_MAPPING_AGAIN,   /* it lies there still */
    SL_MAPPING_WRONG,   /* not one reservation, something is mapped there, or it is not so large */
    SL_MAPPING_SECOND,  /* it lies at another place, or something else is kept at this one */
    SL_MAPPING_FOREIGN, /* the driver's memory */
    SL_MAPPING_UNNOTED, /* no host memory to note it */
};
/* Notes a mapping at addresses of ours. *promised_bytes: of SL_MAPPING_NEW, what was promised for it. */
enum sl_mapping sl_mapping_begin(uint64_t address, uint64_t bytes, CUmemGenericAllocationHandle handle,
                                 uint64_t *promised_bytes);
/* The core could not make the new mapping at `address`. */
void sl_mapping_failed(uint64_t address);

/* Whether [address, address + bytes) is made up of whole mappings. */
bool sl_mappings_fill(uint64_t address, uint64_t bytes);
/* Ends the mapping that begins at `address`; *bytes is how long it was. True: no handle is held, so the
 * allocation there is to be freed; false: it is kept. pre: one begins there. */
bool sl_mapping_end(uint64_t address, uint64_t *bytes);

/* What the device may do. pre: sl_mappings_fill. */
void sl_mappings_allow(uint64_t address, uint64_t bytes, unsigned long long access);
/* False: nothing is mapped at `address`. */
bool sl_mapping_access(uint64_t address, unsigned long long *access);

/* The child's part of fork. */
void sl_mappings_after_fork(void);

#endif
