/* Allocations and frees, and what the program may ask about them. Addresses are device addresses.
 * As in runtime.h, functions are thread-safe and may be called before the start and after the stop, when they
 * own nothing and do nothing. */
#ifndef SLUICE_ALLOCATE_H
#define SLUICE_ALLOCATE_H

#include "base/types.h"
#include "device/backend.h"
#include "trace/sites.h"

/* A live allocation. */
struct sl_allocation {
    uint64_t address, bytes;
    uint64_t number; /* no other allocation of the process has or had it */
    uint32_t tag;    /* the shim's own note about it */
};

/* An allocation of `bytes` > 0 bytes, aligned to at least 512. SL_ERR_NO_MEMORY becomes
 * CUDA_ERROR_OUT_OF_MEMORY; SL_ERR_UNSUPPORTED: not managed (stopped, policy off, a rule wants device memory,
 * or host memory has no room and the device has, see device_room.h): the shim calls the driver instead, and
 * sl_runtime_driver_gave afterwards. `site` from sl_site_here. */
enum sl_status sl_runtime_alloc(uint64_t bytes, uint64_t site, uint32_t tag, uint64_t *address);

/* The same in the order of `stream`, which must take work: only what comes behind the call in that order may
 * use the memory, and the stream waits for whoever used it before. */
enum sl_status sl_runtime_alloc_async(uint64_t bytes, uint64_t site, uint32_t tag, sl_stream stream,
                                      uint64_t *address);

/* Frees what the two above gave; *freed (may be NULL) is what it was. Whoever gets the memory next does so
 * behind everything that was issued to any stream until now. SL_ERR_INVALID if `address` is in our arenas but
 * no allocation starts there. After the stop all succeeds and *freed stays as it was. pre:
 * sl_runtime_owns(address). */
enum sl_status sl_runtime_free(uint64_t address, struct sl_allocation *freed);
/* The same in the order of `stream`, which must take work: the memory is used again behind what was issued
 * to that stream until now, and behind nothing else. */
enum sl_status sl_runtime_free_async(uint64_t address, sl_stream stream, struct sl_allocation *freed);

/* Memory that the driver gave to the program, while the core only records; does nothing otherwise. To be told
 * of after the driver gave it; of its end before the driver takes it back, as another thread may get the same
 * address at once. */
struct sl_noted {
    uint64_t address, bytes, site;
};
void sl_runtime_note_alloc(uint64_t address, uint64_t bytes, uint64_t site);
/* False: no allocation starts at `address`. *noted (may be NULL): what it was. */
bool sl_runtime_note_free(uint64_t address, struct sl_noted *noted);
/* All that has a part in [address, address + bytes) is gone. */
void sl_runtime_note_unmap(uint64_t address, uint64_t bytes);

/* Whether `address` lies in one of our arenas: lock-free, a few nanoseconds. While the core only records:
 * whether it lies in an allocation that was noted. */
bool sl_runtime_owns(uint64_t address);

/* Whether any of [address, last] does. */
bool sl_runtime_owns_part(uint64_t address, uint64_t last);

/* The live allocation that holds `address`; also after the stop, while the device is there. */
bool sl_runtime_find(uint64_t address, struct sl_allocation *found);

/* The program wants to export the allocation that holds `address`, or to register it with a network card:
 * only the driver's memory can be. So what its site allocates from now on, and in the next run where a profile
 * is kept, is the driver's. Returns the site; 0: there is none. */
uint64_t sl_runtime_must_be_device(uint64_t address);

/* Answers cuMemGetInfo with the virtual size, of which allocations of ours and what was charged take a part.
 * False: ask the driver. */
bool sl_runtime_memory_info(uint64_t *free_bytes, uint64_t *total_bytes);

/* sl_runtime_free of one allocation, a block too (blocks.h), but of no mapping that is divided into blocks.
 * `reported`: only if it is a block that no graph may write to. For src/core/ alone. */
struct sl_core;
enum sl_status sl_core_free(struct sl_core *core, uint64_t address, bool reported,
                            struct sl_allocation *freed);

/* Changes bits of the tag of the live allocation that holds `address`. False: there is none. */
bool sl_runtime_tag(uint64_t address, uint32_t clear, uint32_t set);

#endif
