/* Virtual memory management on memory of ours: the reserved addresses, the memory made by cuMemCreate, and
 * its mappings.
 *
 * New memory has no place. The first mapping at addresses of ours makes it an allocation of the core. If the
 * program needs it for anything else before that, the driver's handle replaces it and calls pass through. An
 * allocation never moves: after unmapping it is kept while a handle is held, and can be mapped at the same
 * place only. For everything else the driver takes over the reservation (handover.h). This file keeps the
 * records; hooks_mapping.c asks the core and the driver. Thread-safe; in addition, calls that change what
 * lies at addresses of ours follow one another: sl_mappings_turn. */
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

/* The caller's turn to change mappings and handles of ours. Pass the result to sl_mappings_turn_end. The
 * thread cannot be cancelled meanwhile. */
int sl_mappings_turn(void);
void sl_mappings_turn_end(int before);

/* --- addresses */

/* Records addresses from the core. False: out of host memory. */
bool sl_reservation_made(uint64_t address, uint64_t bytes);
/* Whether `address` lies in a reservation of ours that has not ended. */
bool sl_reservation_holds(uint64_t address);
/* Describes that reservation. False: there is none. */
bool sl_reservation_find(uint64_t address, uint64_t *begin, uint64_t *bytes);
/* Removes the reservation that begins at `begin`. */
void sl_reservation_forget(uint64_t begin);
/* False: the range was not reserved as such, or something is mapped there. *empty: nothing is kept there
 * either, and the reservation is gone; otherwise it goes with the last allocation (struct sl_memory_end). */
bool sl_reservation_end(uint64_t address, uint64_t bytes, bool *empty);

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
    uint64_t reserved, reserved_bytes;    /* the ended reservation whose last allocation it is */
    uint64_t promised_bytes;              /* bytes that never became an allocation */
    CUdevice device;                      /* the device of the memory */
    CUmemGenericAllocationHandle drivers; /* the driver's handle that replaces it */
};
bool sl_memory_released(CUmemGenericAllocationHandle handle, struct sl_memory_end *end);

/* The relation of memory of ours to the driver. */
struct sl_memory_standing {
    CUmemGenericAllocationHandle drivers; /* the driver's handle that replaces it; 0: none */
    bool may_become;                      /* never mapped: the driver's memory can replace it */
    uint64_t address;                     /* of its allocation; 0: none */
    bool mapped;
    uint64_t bytes;
    CUmemAllocationProp properties;
};
bool sl_memory_standing(CUmemGenericAllocationHandle handle, struct sl_memory_standing *standing);
/* `drivers` replaces it from this call on. False: it was mapped meanwhile, or has been replaced. */
bool sl_memory_becomes(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle drivers);

/* Undoes it, because the driver refused what it was for. */
void sl_memory_stays(CUmemGenericAllocationHandle handle);

/* --- mappings */

/* An allocation in a reservation, mapped or kept. */
struct sl_mapped {
    uint64_t address, bytes, memory_bytes;
    CUmemAllocationProp properties;
    unsigned long long access;
    uint64_t guests; /* other devices that have access, as bits */
    bool mapped;
};
/* The first one that overlaps [from, end). False: none. */
bool sl_mapped_next(uint64_t from, uint64_t end, struct sl_mapped *found);
/* The driver's handle replaces the memory of the allocation at `address`, which is ended. *held: the program
 * holds a handle to the memory. *end: what to release of the allocation. */
void sl_mapped_becomes(uint64_t address, CUmemGenericAllocationHandle drivers, bool *held,
                       struct sl_memory_end *end);

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

/* Sets the access of the memory's device, or of another one. Precondition: sl_mappings_fill. */
void sl_mappings_allow(uint64_t address, uint64_t bytes, unsigned long long access);
void sl_mappings_let_in(uint64_t address, uint64_t bytes, CUdevice guest, bool access);
/* False: nothing is mapped at `address`. */
bool sl_mapping_access(uint64_t address, unsigned long long *access);

/* The context of the core ends, and with it the addresses and memory that the core has given out: the core's,
 * and what has no place yet on its device. Precondition: the core's addresses are still known. */
void sl_mappings_gone(uint32_t core, CUdevice device);

/* For the child after fork. */
void sl_mappings_after_fork(void);

#endif
