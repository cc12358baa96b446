/* Allocations, frees, and the program's questions about them. Addresses are device addresses. As in
 * runtime.h, functions are thread-safe and may be called before the start and after the stop, when they
 * own nothing and do nothing. */
#ifndef SLUICE_ALLOCATE_H
#define SLUICE_ALLOCATE_H

#include "base/types.h"
#include "device/backend.h"
#include "trace/objects.h"

/* A live allocation. */
struct sl_allocation {
    uint64_t address, bytes;
    uint64_t number; /* unique: no other allocation of the process has it or had it */
    uint32_t tag;    /* for the shim's own use */
};

/* Allocates `bytes` > 0 bytes, aligned to at least 512 bytes. `site` from sl_site_here. SL_ERR_NO_MEMORY
 * becomes CUDA_ERROR_OUT_OF_MEMORY. SL_ERR_UNSUPPORTED: the memory is not managed (the core has stopped,
 * the policy is off, a rule asks for device memory, or host memory has no room and the device has, see
 * room.h). Then the shim allocates from the driver and calls sl_runtime_driver_gave afterwards. `stream` (may
 * be NULL), which must accept work: only work that follows the call in its order may use the memory; the
 * stream waits for the memory's earlier users. */
enum sl_status sl_runtime_alloc(uint64_t bytes, uint64_t site, uint32_t tag, const sl_stream *stream,
                                uint64_t *address);

/* Frees memory of the function above and describes it in *freed (may be NULL). The next owner uses
 * the memory only after all work that was issued to any stream before this call. SL_ERR_INVALID: `address`
 * is in our arenas, but no allocation starts there. After the stop every call succeeds and leaves *freed
 * alone. Precondition: sl_runtime_owns(address). */
enum sl_status sl_runtime_free(uint64_t address, struct sl_allocation *freed);
/* When memory may be freed. */
enum sl_free_when {
    SL_FREE_NOW,
    SL_FREE_IDLE, /* while no work is queued; else SL_ERR_UNSUPPORTED, and *freed describes what is not freed
                   */
};
/* The same in the order of `stream`, which must accept work: the next owner of the memory waits only for
 * work that was issued to that stream before this call. */
enum sl_status sl_runtime_free_async(uint64_t address, sl_stream stream, struct sl_allocation *freed);

/* Memory that the driver gave to the program, while the core only records; otherwise these functions do
 * nothing. Report an allocation after the driver made it, and its end before the driver frees it: another
 * thread may get the same address at once. */
struct sl_noted {
    uint64_t address, bytes, site;
};
void sl_runtime_note_alloc(uint64_t address, uint64_t bytes, uint64_t site);
/* Describes the allocation in *noted (may be NULL). False: no allocation starts at `address`. */
bool sl_runtime_note_free(uint64_t address, struct sl_noted *noted);
/* Ends all allocations that overlap [address, address + bytes). */
void sl_runtime_note_unmap(uint64_t address, uint64_t bytes);

/* Whether `address` lies in one of our slabs: lock-free, a few nanoseconds. While the core only records:
 * whether it lies in an allocation that was noted. */
bool sl_runtime_owns(uint64_t address);

/* Whether any slab of ours overlaps [address, last]; while the core only records, a slab that holds or
 * held noted allocations. */
bool sl_runtime_owns_part(uint64_t address, uint64_t last);

/* Finds the live allocation that holds `address`; also after the stop, as long as the device exists. */
bool sl_runtime_find(uint64_t address, struct sl_allocation *found);

/* The program is about to export the allocation that holds `address`, or to register it with a network
 * card. Both need memory of the driver, so the driver serves this site's further allocations on all devices,
 * and with a profile those of the next run too. Returns the site; 0: none. */
uint64_t sl_runtime_must_be_device(uint64_t address);

/* sl_runtime_free for a part of what it frees; SL_ERR_INVALID: the address begins something else. For
 * src/core/ only. */
enum sl_free_what {
    SL_FREE_ANY,
    SL_FREE_PLAIN,    /* an allocation that the program did not map */
    SL_FREE_BLOCK,    /* an allocation or a block (mapped.h), but not a mapping that is divided into blocks */
    SL_FREE_REPORTED, /* the framework reported its end: only a block that no graph may write to */
};
struct sl_core;
enum sl_status sl_core_free(struct sl_core *core, uint64_t address, enum sl_free_what what,
                            enum sl_free_when when, struct sl_allocation *freed);

/* Clears and sets bits in the tag of the live allocation that holds `address`. False: there is none. */
bool sl_runtime_tag(uint64_t address, uint32_t clear, uint32_t set);

#endif
