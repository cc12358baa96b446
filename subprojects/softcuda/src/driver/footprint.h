/* The peak of a quantity over simulated time, from changes that may be added in any order.
 *
 * Of changes at the same time, decreases are applied first: a frame that is freed at t and reused at t counts
 * once. Thread safety: none. */
#ifndef SOFTCUDA_FOOTPRINT_H
#define SOFTCUDA_FOOTPRINT_H

#include <stddef.h>
#include <stdint.h>

struct sc_change {
    uint64_t at_ns;
    int64_t delta;
};

struct sc_footprint {
    struct sc_change *changes;
    size_t count, capacity;
    int64_t folded, folded_peak; /* sum and peak of the changes that were folded */
    size_t lost;                 /* changes dropped for lack of memory */
};

void sc_footprint_add(struct sc_footprint *footprint, uint64_t at_ns, int64_t delta);

/* Bounds the memory by folding the changes before `before_ns`. pre: no change before `before_ns` is added
 * after this call. */
void sc_footprint_fold(struct sc_footprint *footprint, uint64_t before_ns);

/* The largest sum so far. */
uint64_t sc_footprint_peak(struct sc_footprint *footprint);

void sc_footprint_destroy(struct sc_footprint *footprint);

#endif
