/* What a launch may touch, stored apart from the launch: addresses, not allocations. Used for graphs, whose
 * nodes are known long before they are launched. A footprint is one block of memory, freed with free(). */
#ifndef SLUICE_FOOTPRINT_H
#define SLUICE_FOOTPRINT_H

#include "base/types.h"

/* An arena address that a launch was given. */
struct sl_word {
    uint64_t address, bytes; /* bytes 0: unknown length */
    uint64_t parameter;      /* see struct sl_access, as is `where` */
    uint64_t threads;        /* 0: taken from the launch's grid */
    uint32_t where;
    bool only_read; /* known not to be written */
};

struct sl_footprint {
    uint64_t shape;       /* a hash of all but the addresses */
    uint64_t in_any_size; /* a hash of what is the same whatever its sizes; 0: nothing is, as in a graph */
    uint32_t count;
    struct sl_word words[];
};

/* A footprint with a copy of the words. NULL: out of memory. */
struct sl_footprint *sl_footprint_new(uint64_t shape, const struct sl_word *words, uint32_t count);

/* All that `parts` touch: each address once for each parameter, in the order of first mention. A NULL part
 * touches nothing. NULL: out of memory. */
struct sl_footprint *sl_footprint_join(const struct sl_footprint *const *parts, size_t count);

#endif
