/* Memory of ours, as the hooks of allocations and of pools share it. */
#ifndef SLUICE_SHIM_MEMORY_H
#define SLUICE_SHIM_MEMORY_H

#include <stdbool.h>

#include "core/runtime.h"
#include "driver_api.h"

/* An allocation's tag in the core. */
#define SL_TAG_POOL 0x1fffffffu        /* the number of its pool, or 0 */
#define SL_TAG_UNMAPPED 0x20000000u    /* of a mapping, which is kept: see mapping.h */
#define SL_TAG_MAPPING 0x40000000u     /* it is a mapping: cuMemUnmap ends it, cuMemFree does not */
#define SL_TAG_SYNC_MEMOPS 0x80000000u /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set */

/* The allocation that holds `address`. False: there is none that the program may use. */
static inline bool sl_memory_find(uint64_t address, struct sl_allocation *found)
{
    return sl_runtime_find(address, found) && !(found->tag & SL_TAG_UNMAPPED);
}

/* An allocation from the core. False: the driver is to be asked; else *result is
 * the program's answer. pre: sl_session_on_for_memory(), and nothing forbids allocating now. */
bool sl_memory_take(struct sl_call call, CUdeviceptr *address, uint64_t bytes, CUresult *result);

/* An answer that the core gave as the driver's. False: the driver is to be asked. */
bool sl_memory_status(enum sl_status status, CUresult *result);

/* Hands the answer to an allocation on; records one that was refused. */
CUresult sl_memory_answer(struct sl_call call, CUresult result, uint64_t bytes);

/* Frees memory of ours, whatever the thread's context, behind all work of the context. What is mapped is
 * refused. pre: sl_session_owns(address). */
CUresult sl_memory_give(CUdeviceptr address);
/* The same in the order of `stream`, which takes work. */
CUresult sl_memory_give_async(CUdeviceptr address, sl_stream stream);

/* Tells a core that only records of memory that the driver gave. */
static inline void sl_memory_note(struct sl_call call, CUdeviceptr address, uint64_t bytes)
{
    if (sl_runtime_records_only() && sl_runtime_running())
        sl_runtime_note_alloc(address, bytes, sl_site_here(call.caller));
}

#endif
