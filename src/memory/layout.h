/* Where the allocations of a period are to lie when it comes again.
 *
 * Whoever allocates does not know how long an allocation lives and which launches use it; whoever has seen a
 * period does. A chunk is needed while anything in it is, so what is used at the same times is to lie
 * together. One after the other is placed where there is room as long as it lives, in the chunk that is
 * needed for the least time more, and there in the smallest gap: best fit, as offline storage allocation has
 * it, with time of residency in place of bytes. Several orders are tried, and disordered ones; that with the
 * lowest cost is taken. Not thread-safe; allocates and frees its own space.
 */
#ifndef SLUICE_LAYOUT_H
#define SLUICE_LAYOUT_H

#include "base/types.h"

#define SL_LAYOUT_TIMES 512 /* that a period has: parts of equal length */
#define SL_LAYOUT_WORDS (SL_LAYOUT_TIMES / 64)

struct sl_layout_item {
    uint64_t offset, bytes; /* in its chunk, which it does not leave; multiples of 512 are best */
    uint32_t bin;           /* the chunk, by a number below bin_count */
    uint32_t begins, ends;  /* at which event of the period; what lives on into the next: behind its end */
    enum {
        SL_LAYOUT_FIXED, /* lies there in every period */
        SL_LAYOUT_REST,  /* the same, but of the period before: only in the first one, until it ends */
        SL_LAYOUT_MOVABLE
    } kind;
    uint64_t used[SL_LAYOUT_WORDS]; /* a bit for each time at which it is to be on the device */
};

/* What a layout costs; less is better. UINT64_MAX: not known. */
struct sl_layout_judge {
    uint64_t (*cost)(void *self, const struct sl_layout_item *items);
    void *self;
    unsigned variants; /* that are judged beside the usual ways, where as many can be found, */
    unsigned seed;     /* others with another */
};

/* Gives movable items bins and offsets. `period`: events. `judge` says which way is the best. The first
 * period in which they lie there begins with what lies where it does now, so no two ever overlap.
 * SL_ERR_NO_MEMORY, also where one fits nowhere or the judge knows of none, and nothing is changed. */
enum sl_status sl_layout_make(struct sl_layout_item *items, size_t count, uint32_t bin_count,
                              uint64_t chunk_bytes, uint32_t period, const struct sl_layout_judge *judge);

#endif
