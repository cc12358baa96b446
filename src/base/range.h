/* Disjoint address ranges, each with a number: the driver's allocations while the core only records. Not
 * thread-safe. */
#ifndef SLUICE_RANGE_H
#define SLUICE_RANGE_H

#include "base/types.h"

struct sl_ranges {
    struct sl_range {
        uint64_t begin, end;
        uint32_t number;
    } * ranges; /* sorted */
    uint32_t count, capacity;
};

void sl_ranges_free(struct sl_ranges *ranges); /* accepts a zeroed one */

/* The number of the range that holds `address`, or SL_NONE. */
uint32_t sl_ranges_find(const struct sl_ranges *ranges, uint64_t address);
/* The number of the first range that overlaps [begin, end), or SL_NONE. */
uint32_t sl_ranges_overlap(const struct sl_ranges *ranges, uint64_t begin, uint64_t end);

/* False: out of memory. Precondition: no range overlaps it, and begin < end. */
bool sl_ranges_put(struct sl_ranges *ranges, uint64_t begin, uint64_t end, uint32_t number);
/* Removes the range that begins at `begin`, if there is one. */
void sl_ranges_remove(struct sl_ranges *ranges, uint64_t begin);

#endif
