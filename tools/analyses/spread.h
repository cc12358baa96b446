/* The distribution of a figure, such as the times of all iterations. */
#ifndef SLUICE_TOOL_SPREAD_H
#define SLUICE_TOOL_SPREAD_H

#include <stddef.h>
#include <stdint.h>

struct spread {
    uint64_t count, least, quarter, median, three_quarters, most;
};

/* Sorts `values`. Without values all members are 0. */
struct spread spread_of(uint64_t *values, size_t count);

/* The distance within which most values lie: between the quartiles, or between the extremes if there are too
 * few values for quartiles. */
uint64_t spread_width(const struct spread *spread);

#endif
