#include "footprint.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *left, const void *right)
{
    const struct sc_change *a = left, *b = right;
    if (a->at_ns != b->at_ns) return a->at_ns < b->at_ns ? -1 : 1;
    return (a->delta > b->delta) - (a->delta < b->delta);
}

void sc_footprint_add(struct sc_footprint *footprint, uint64_t at_ns, int64_t delta)
{
    if (!delta) return;
    if (footprint->count == footprint->capacity) {
        size_t capacity = footprint->capacity ? 2 * footprint->capacity : 1024;
        struct sc_change *changes = realloc(footprint->changes, capacity * sizeof *changes);
        if (!changes) {
            footprint->lost++;
            return;
        }
        footprint->changes = changes;
        footprint->capacity = capacity;
    }
    footprint->changes[footprint->count++] = (struct sc_change){at_ns, delta};
}

void sc_footprint_fold(struct sc_footprint *footprint, uint64_t before_ns)
{
    if (!footprint->count) return;
    qsort(footprint->changes, footprint->count, sizeof *footprint->changes, by_time);
    size_t done = 0;
    for (; done < footprint->count && footprint->changes[done].at_ns < before_ns; done++) {
        footprint->folded += footprint->changes[done].delta;
        if (footprint->folded > footprint->folded_peak) footprint->folded_peak = footprint->folded;
    }
    footprint->count -= done;
    memmove(footprint->changes, footprint->changes + done, footprint->count * sizeof *footprint->changes);
}

uint64_t sc_footprint_peak(struct sc_footprint *footprint)
{
    sc_footprint_fold(footprint, 0);
    int64_t sum = footprint->folded, peak = footprint->folded_peak;
    for (size_t i = 0; i < footprint->count; i++) {
        sum += footprint->changes[i].delta;
        if (sum > peak) peak = sum;
    }
    return peak > 0 ? (uint64_t)peak : 0;
}

void sc_footprint_destroy(struct sc_footprint *footprint)
{
    free(footprint->changes);
    memset(footprint, 0, sizeof *footprint);
}
