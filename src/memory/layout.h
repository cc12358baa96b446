/* Where the allocations of a period are to lie when it comes again.
 *
 * Whoever allocates does not know how long an allocation lives and which launches use it; whoever has seen a
 * period does. A chunk is needed while anything in it is, so what is used at the same times is to lie
 * together. One after the other is placed where there is room as long as it lives, in the chunk that is
 * needed for the least time more, and there in the smallest gap: best fit, as offline storage allocation has
 * it, with time of residency in place of bytes. Several orders are tried, and that with the lowest cost is
 * taken. Not thread-safe; allocates and frees its own space.
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

/* How long chunks are to be on the device, summed, in times, and half of the period more for each that is
 * used at all. The shortest step that chunks allow within a budget goes with it: on traces of PyTorch, 27
 * layouts of each, with a correlation of 0.7 to 0.9. 0: out of memory. */
uint64_t sl_layout_cost(const struct sl_layout_item *items, size_t count, uint32_t bin_count);

/* Gives movable items bins and offsets. `period`: events. The first period in which they lie there begins
 * with what lies where it does now, so no two ever overlap. SL_ERR_NO_MEMORY, also where one fits nowhere,
 * and nothing is changed. */
enum sl_status sl_layout_make(struct sl_layout_item *items, size_t count, uint32_t bin_count,
                              uint64_t chunk_bytes, uint32_t period);

#endif
