/* A period's allocations as a layout's items (memory/layout.h): when they live, when they are used, where
 * they lie. Caller holds the order lock. */
#ifndef SLUICE_PERIOD_ITEMS_H
#define SLUICE_PERIOD_ITEMS_H

#include "base/types.h"
#include "memory/layout.h"

struct sl_core;

struct sl_period_items {
    const struct sl_core *core;
    const sl_symbol *symbols;
    const uint64_t *notes;
    size_t period;
    struct sl_layout_item *items;
    struct sl_period_part {
        uint32_t symbol;     /* index in the period of its allocation; SL_NONE: it exists before */
        uint32_t more;       /* further items of the same allocation, one for each chunk */
        uint64_t last_ns;    /* end of its last use; 0: none yet */
        uint64_t most_bytes; /* to keep room for */
    } * parts;               /* parallel to `items` */
    uint32_t count, item_capacity, part_capacity;
    uint32_t *item_of;  /* by slot, or name of any size: first item of its live allocation; SL_NONE: none */
    uint32_t *bin_of;   /* by chunk; SL_NONE: the chunk is not considered */
    sl_chunk *chunk_of; /* by bin */
    uint32_t bin_count, movable, allocations;
    uint64_t period_ns, gap_ns;
    uint8_t home; /* the stream of the period's first allocation */
    bool mixed; /* allocations of several streams: a place freed on another stream would have to be waited for
                 */
};

/* Reads the first `period` of at least twice as many predicted symbols, which begin with the program's next
 * one. `notes`: where their allocations are predicted to lie (0: at the slot's place). False: out of memory.
 */
bool sl_period_items_read(struct sl_period_items *items, struct sl_core *core, const sl_symbol *symbols,
                          const uint64_t *notes, size_t period);
void sl_period_items_close(struct sl_period_items *items); /* zeroes it; accepts a zeroed one */

#endif
