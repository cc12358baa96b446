/* Where a period's allocations are placed in its next repetition.
 *
 * An allocator does not know how long an allocation lives and which launches use it; this module has seen a
 * whole period. A chunk is needed while anything in it is, so allocations that are used at the same times
 * should share chunks. Allocations are placed one at a time: of the chunks with room during the allocation's
 * life, the one whose time on the device grows least, and there the smallest gap. This is best fit, as in
 * offline storage allocation, with residency time instead of bytes. Several orders and random variations of
 * them are tried, one in each step; the cheapest result is taken. Not thread-safe.
 */
#ifndef SLUICE_LAYOUT_H
#define SLUICE_LAYOUT_H

#include "base/types.h"

#define SL_LAYOUT_TIMES 512 /* equal parts of a period */
#define SL_LAYOUT_WORDS (SL_LAYOUT_TIMES / 64)

struct sl_layout_item {
    uint64_t offset, bytes; /* within one chunk; multiples of 512 are best */
    uint32_t bin;           /* the chunk: a number below bin_count */
    uint32_t begins, ends;  /* events of the period; `ends` beyond its end for one that lives into the next */
    enum {
        SL_LAYOUT_FIXED, /* lies there in every period */
        SL_LAYOUT_REST,  /* left over from the period before: there only in the first period, until it ends */
        SL_LAYOUT_MOVABLE
    } kind;
    uint64_t used[SL_LAYOUT_WORDS]; /* a bit for each time at which it should be on the device */
};

/* The cost of a layout; less is better. UINT64_MAX: unknown. */
struct sl_layout_judge {
    uint64_t (*cost)(void *self, const struct sl_layout_item *items);
    void *self;
    unsigned variants; /* random variations to judge beside the fixed ways, if so many are found */
    unsigned seed;     /* of the variations */
};

struct sl_layout;

/* Looks for bins and offsets of the movable items. `items` and `judge` are used until the end. `period`: its
 * number of events. `judge` rates the ways. The first period with the new places begins while earlier items
 * still lie at their current ones; none of these overlap. NULL: out of memory. */
struct sl_layout *sl_layout_begin(struct sl_layout_item *items, size_t count, uint32_t bin_count,
                                  uint64_t chunk_bytes, uint32_t period, const struct sl_layout_judge *judge);
/* Tries one way. False: all were tried before. */
bool sl_layout_step(struct sl_layout *layout);
/* Gives the items the best places so far, and frees `layout`. SL_ERR_NO_MEMORY: an item fits nowhere, or the
 * judge rates no way; nothing is changed then. */
enum sl_status sl_layout_end(struct sl_layout *layout);

#endif
