/* Memory of ours, shared by the hooks of allocations and of pools. */
#ifndef SLUICE_SHIM_MEMORY_H
#define SLUICE_SHIM_MEMORY_H

#include <stdbool.h>

#include "core/runtime.h"
#include "driver_api.h"

/* An allocation's tag in the core. */
#define SL_TAG_POOL 0x1fffffffu        /* the number of its pool, or 0 */
#define SL_TAG_UNMAPPED 0x20000000u    /* of a mapping that is unmapped but kept: see mapping.h */
#define SL_TAG_MAPPING 0x40000000u     /* a mapping: cuMemUnmap ends it, cuMemFree does not */
#define SL_TAG_SYNC_MEMOPS 0x80000000u /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set */

/* The allocation that holds `address`. False: there is none that the program may use. */
static inline bool sl_memory_find(uint64_t address, struct sl_allocation *found)
{
    return sl_runtime_find(address, found) && !(found->tag & SL_TAG_UNMAPPED);
}

/* Allocates from the core. True: *result is the program's answer; false: ask the driver. Precondition:
 * sl_session_on_for_memory(), and allocating is not forbidden at this moment. */
bool sl_memory_take(struct sl_call call, CUdeviceptr *address, uint64_t bytes, CUresult *result);

/* Converts an answer of the core to the driver's. False: ask the driver. */
bool sl_memory_status(enum sl_status status, CUresult *result);

/* Returns the answer to an allocation; records a refused one. */
CUresult sl_memory_answer(struct sl_call call, CUresult result, uint64_t bytes);

/* Frees memory of ours in the order of `stream`, which takes work, whatever the thread's context. Refuses
 * mapped memory. Precondition: sl_session_owns(address). */
CUresult sl_memory_give_async(CUdeviceptr address, sl_stream stream);

/* Tells a core that only records about memory from the driver. */
static inline void sl_memory_note(struct sl_call call, CUdeviceptr address, uint64_t bytes)
{
    if (sl_runtime_records_only() && sl_runtime_running())
        sl_runtime_note_alloc(address, bytes, sl_site_here(call.caller));
}

#endif
