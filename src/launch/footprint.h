/* What a launch may touch, noted apart from the launch: addresses, not allocations. Graphs need it, whose
 * nodes are known long before they are launched. A footprint is one block of memory, freed with free(). */
#ifndef SLUICE_FOOTPRINT_H
#define SLUICE_FOOTPRINT_H

#include "base/types.h"

/* An address in an arena that a launch was given. */
struct sl_word {
    uint64_t address, bytes; /* 0: not known how many */
    uint64_t parameter;      /* see struct sl_access, as is `where` */
    uint64_t threads;        /* 0: the launch's grid says */
    uint32_t where;
    bool only_read; /* surely not written */
};

struct sl_footprint {
    uint64_t shape; /* a hash of all but the addresses */
    uint32_t count;
    struct sl_word words[];
};

/* A copy of the words. NULL when there is no memory. */
struct sl_footprint *sl_footprint_new(uint64_t shape, const struct sl_word *words, uint32_t count);

/* All that `parts`, of which any may be NULL for nothing, touch: each address once for each parameter, in the
 * order of its first mention. NULL when there is no memory. */
struct sl_footprint *sl_footprint_join(const struct sl_footprint *const *parts, size_t count);

#endif
