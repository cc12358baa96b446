#include "tools/analyses/spread.h"

#include <stdlib.h>

enum { QUARTILES_LEAST = 8 };

static int ascending(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

struct spread spread_of(uint64_t *values, size_t count)
{
    if (!count) return (struct spread){0};
    qsort(values, count, sizeof(*values), ascending);
    return (struct spread){count,
                           values[0],
                           values[(count - 1) / 4],
                           values[(count - 1) / 2],
                           values[(count - 1) * 3 / 4],
                           values[count - 1]};
}

uint64_t spread_width(const struct spread *spread)
{
    if (spread->count < QUARTILES_LEAST) return spread->most - spread->least;
    return spread->three_quarters - spread->quarter;
}
