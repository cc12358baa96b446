/* Blocks: what a framework's own allocator hands out of memory that it has mapped itself.
 *
 * PyTorch's caching allocator keeps what it once got, and tells its profiler of each block that it gives to a
 * tensor or takes back. With expandable segments it maps memory at addresses that it reserved, bit by bit.
 * Such a mapping is one allocation until the first block in it is reported; from then on its blocks are
 * allocations, where the framework has them, and what lies between them is dead. The framework itself orders
 * the uses of memory that it hands out again, so nothing waits for that.
 *
 * A report is believed only where no data can be lost. A mapping is divided before any launch could have used
 * it. One in which a block is handed out while a stream captures is live as a whole from then on: the graph
 * may write there at any time, whatever was taken back since.
 */
#ifndef SLUICE_BLOCKS_H
#define SLUICE_BLOCKS_H

#include "base/range.h"
#include "base/types.h"

struct sl_core;
struct sl_allocation;

struct sl_blocks {
    struct sl_divided {
        uint64_t address, bytes, number; /* bytes 0: the entry is free */
        uint32_t tag;
        bool whole; /* all of it is live, whatever is reported */
    } * mappings;   /* mappings that are divided */
    uint32_t count, capacity;
    struct sl_ranges by_address; /* to the mapping */
};

/* The framework has handed out [address, address + bytes), or takes back what begins at `address`.
 * Thread-safe; nothing happens elsewhere than in memory that the program mapped, before the start and after
 * the stop. `site` from sl_site_here. */
void sl_runtime_block_taken(uint64_t address, uint64_t bytes, uint64_t site);
void sl_runtime_block_returned(uint64_t address);

/* --- within the core; the caller holds the order lock --- */

/* The mapping that holds `address` if it is divided. */
bool sl_blocks_find(const struct sl_blocks *blocks, uint64_t address, struct sl_allocation *found);
/* Its tag; NULL: there is none. */
uint32_t *sl_blocks_tag(const struct sl_blocks *blocks, uint64_t address);
/* Where the first block of the divided mapping that begins at `address` lies; 0: there is none. */
uint64_t sl_blocks_next(const struct sl_core *core, uint64_t address);
/* The divided mapping that begins at `address`, in which there is no block, ends. */
void sl_blocks_end(struct sl_core *core, uint64_t address);
/* It is about to end, whoever may write to it. */
void sl_blocks_release(struct sl_blocks *blocks, uint64_t address);
/* Whether `s` is no block's slot, or a part of the block lies where all is live. */
bool sl_block_is_kept(const struct sl_core *core, uint32_t s);
/* Ends the life of the slot `s` of a block. */
void sl_block_end(struct sl_core *core, uint32_t s);

void sl_blocks_close(struct sl_blocks *blocks); /* accepts zeroed ones */

#endif
