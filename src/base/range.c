#include "base/range.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void sl_ranges_free(struct sl_ranges *ranges)
{
    free(ranges->ranges);
    *ranges = (struct sl_ranges){0};
}

/* The index of the first range that ends after `address`. */
static uint32_t ending_behind(const struct sl_ranges *ranges, uint64_t address)
{
    uint32_t low = 0, high = ranges->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ranges->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t sl_ranges_overlap(const struct sl_ranges *ranges, uint64_t begin, uint64_t end)
{
    uint32_t at = ending_behind(ranges, begin);
    return at < ranges->count && ranges->ranges[at].begin < end ? ranges->ranges[at].number : SL_NONE;
}

uint32_t sl_ranges_find(const struct sl_ranges *ranges, uint64_t address)
{
    return sl_ranges_overlap(ranges, address, address + 1);
}

bool sl_ranges_put(struct sl_ranges *ranges, uint64_t begin, uint64_t end, uint32_t number)
{
    if (!sl_grow(&ranges->ranges, &ranges->capacity, ranges->count, sizeof *ranges->ranges)) return false;
    uint32_t at = ending_behind(ranges, begin);
    memmove(&ranges->ranges[at + 1], &ranges->ranges[at], (ranges->count - at) * sizeof *ranges->ranges);
    ranges->ranges[at] = (struct sl_range){begin, end, number};
    ranges->count++;
    return true;
}

void sl_ranges_remove(struct sl_ranges *ranges, uint64_t begin)
{
    uint32_t at = ending_behind(ranges, begin);
    if (at == ranges->count || ranges->ranges[at].begin != begin) return;
    ranges->count--;
    memmove(&ranges->ranges[at], &ranges->ranges[at + 1], (ranges->count - at) * sizeof *ranges->ranges);
}
