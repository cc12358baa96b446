/* The peak of a quantity over simulated time, from changes that arrive in any order of time.
 *
 * Changes at the same time are taken with the decreases first, so that a frame freed at t and reused at t
 * counts once. Thread safety: none. */
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
    int64_t folded, folded_peak; /* of the changes that were folded away */
    size_t lost;                 /* changes that found no memory */
};

void sc_footprint_add(struct sc_footprint *footprint, uint64_t at_ns, int64_t delta);

/* Bounds the memory: no change before `before_ns` will ever be added again. */
void sc_footprint_fold(struct sc_footprint *footprint, uint64_t before_ns);

/* The largest sum so far. */
uint64_t sc_footprint_peak(struct sc_footprint *footprint);

void sc_footprint_destroy(struct sc_footprint *footprint);

#endif
