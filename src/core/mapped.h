/* Memory that the program places itself: reserved addresses, memory without an address, and mappings, which
 * are allocations at reserved addresses. Thread-safe; as in runtime.h, functions may be called before the
 * start and after the stop, when they own nothing and do nothing. */
#ifndef SLUICE_MAPPED_H
#define SLUICE_MAPPED_H

#include "base/map.h"

struct sl_core;
struct sl_allocation;

/* Reserves at least `bytes` > 0 bytes of addresses, aligned to 1 GiB. SL_ERR_NO_MEMORY. SL_ERR_UNSUPPORTED:
 * not managed, or not enough addresses; then the shim asks the driver. */
enum sl_status sl_runtime_reserve(uint64_t bytes, uint64_t *address);
/* Precondition: sl_runtime_reserve returned `address` for as many bytes, and no allocation lies there. */
void sl_runtime_unreserve(uint64_t address, uint64_t bytes);

/* Gives the reservation's addresses up for ever, so that the driver can have them. Waits on the host for
 * movements. Enqueues. Precondition: as sl_runtime_unreserve; the context of the memory is current, and its
 * device has no work that uses the memory. */
void sl_runtime_give_up(uint64_t address, uint64_t bytes);

/* Promises memory that the program will map. sl_runtime_map uses it up, or sl_runtime_unpromise gives it
 * back. SL_ERR_NO_MEMORY, SL_ERR_UNSUPPORTED: as for sl_runtime_alloc. */
enum sl_status sl_runtime_promise(uint64_t bytes);
void sl_runtime_unpromise(uint64_t bytes);

/* Maps an allocation of whole 2 MiB blocks at an address of sl_runtime_reserve. `promised_bytes`: the part of
 * earlier promises that it uses up. sl_runtime_free ends it. SL_ERR_INVALID: something lies there. */
enum sl_status sl_runtime_map(uint64_t address, uint64_t bytes, uint64_t promised_bytes, uint64_t site,
                              uint32_t tag);

/* --- Blocks: parts of mapped memory that a framework's own allocator hands out.
 *
 * PyTorch's caching allocator keeps the memory that it once got, and tells its profiler of each block that it
 * gives to a tensor or takes back. With expandable segments it maps memory piece by piece at reserved
 * addresses. Such a mapping is one allocation until the first block in it is reported. From then on its
 * blocks are the allocations, and the memory between them is dead. The framework orders the uses of memory
 * that it hands out again, so nothing waits for that.
 *
 * A report is believed only if no data can be lost. A mapping is divided only if no launch can have used it
 * before. If a block is handed out while a stream captures, its mapping is live as a whole from then on: the
 * graph may write there at any time, even after the block is taken back. */

struct sl_blocks {
    struct sl_divided {
        uint64_t address, bytes, number; /* bytes 0: the entry is free */
        uint32_t tag;
        bool whole; /* all of it is live, whatever is reported */
    } * mappings;   /* divided mappings */
    uint32_t count, capacity;
    struct sl_ranges by_address; /* to the index in `mappings` */
};

/* The framework has handed out [address, address + bytes), or takes back the block that begins at `address`.
 * `site` from sl_site_here. Thread-safe. Does nothing outside of memory that the program mapped, before the
 * start and after the stop. */
void sl_runtime_block_taken(uint64_t address, uint64_t bytes, uint64_t site);
void sl_runtime_block_returned(uint64_t address);

/* --- within the core; the caller holds the order lock --- */

/* Finds the divided mapping that holds `address`. */
bool sl_blocks_find(const struct sl_blocks *blocks, uint64_t address, struct sl_allocation *found);
/* The tag of that mapping; NULL: there is none. */
uint32_t *sl_blocks_tag(const struct sl_blocks *blocks, uint64_t address);
/* The divided mapping that begins at `address` is about to end: its blocks may be freed even if graphs may
 * write to them. Returns the address of the first one; 0: there is none. */
uint64_t sl_blocks_release_next(struct sl_core *core, uint64_t address);
/* Ends the divided mapping that begins at `address`. Precondition: no block is left in it. */
void sl_blocks_end(struct sl_core *core, uint64_t address);
/* Whether `s` must not be freed on a report: it is not a block's slot, or part of it lies where everything is
 * live. */
bool sl_block_is_kept(const struct sl_core *core, uint32_t s);
/* Ends the life of a block's slot `s`. */
void sl_block_end(struct sl_core *core, uint32_t s);

void sl_blocks_close(struct sl_blocks *blocks); /* accepts a zeroed one */

#endif
