#include "timeline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first interval that ends after `at_ns`. */
static size_t index_at(const struct sc_timeline *timeline, uint64_t at_ns)
{
    size_t low = 0, high = timeline->count;
    /* Most work comes behind everything else. */
    if (high && timeline->list[high - 1].end_ns <= at_ns) return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (timeline->list[middle].end_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sc_busy *sc_timeline_at(const struct sc_timeline *timeline, uint64_t at_ns)
{
    size_t i = index_at(timeline, at_ns);
    return i < timeline->count ? &timeline->list[i] : NULL;
}

uint64_t sc_timeline_gap(const struct sc_timeline *timeline, uint64_t at_ns, uint64_t length_ns)
{
    if (at_ns < timeline->floor_ns) at_ns = timeline->floor_ns;
    for (size_t i = index_at(timeline, at_ns); i < timeline->count; i++) {
        const struct sc_busy *busy = &timeline->list[i];
        if (busy->start_ns > at_ns && busy->start_ns - at_ns >= length_ns) break;
        at_ns = busy->end_ns;
    }
    return at_ns;
}

uint64_t sc_timeline_idle(const struct sc_timeline *timeline, uint64_t at_ns)
{
    return sc_timeline_gap(timeline, at_ns, 1);
}

uint64_t sc_timeline_end(const struct sc_timeline *timeline)
{
    return timeline->count ? timeline->list[timeline->count - 1].end_ns : timeline->floor_ns;
}

static bool grow(struct sc_timeline *timeline)
{
    if (timeline->count < timeline->capacity) return true;
    size_t capacity = timeline->capacity ? 2 * timeline->capacity : 64;
    struct sc_busy *list = realloc(timeline->list, capacity * sizeof *list);
    if (!list) return false;
    timeline->list = list;
    timeline->capacity = capacity;
    return true;
}

/* Books a part that is free, before interval `i`. Returns the index behind it. */
static size_t insert(struct sc_timeline *timeline, size_t i, struct sc_busy part)
{
    struct sc_busy *before = i ? &timeline->list[i - 1] : NULL;
    if (before && before->end_ns == part.start_ns && before->rate == part.rate) {
        before->end_ns = part.end_ns;
        return i;
    }
    if (!grow(timeline)) {
        timeline->lost++;
        return i;
    }
    struct sc_busy *at = &timeline->list[i];
    memmove(at + 1, at, (timeline->count++ - i) * sizeof *at);
    *at = part;
    return i + 1;
}

/* Interval `i` and the one before it become one if they are alike. */
static void join(struct sc_timeline *timeline, size_t i)
{
    if (!i || i >= timeline->count) return;
    struct sc_busy *at = &timeline->list[i];
    if (at[-1].end_ns != at->start_ns || at[-1].rate != at->rate) return;
    at[-1].end_ns = at->end_ns;
    memmove(at, at + 1, (--timeline->count - i) * sizeof *at);
}

void sc_timeline_book(struct sc_timeline *timeline, uint64_t start_ns, uint64_t end_ns, double rate)
{
    size_t i = index_at(timeline, start_ns);
    while (start_ns < end_ns) {
        struct sc_busy next = i < timeline->count ? timeline->list[i] : (struct sc_busy){UINT64_MAX, 0, 0};
        uint64_t until_ns = next.start_ns < end_ns ? next.start_ns : end_ns;
        if (until_ns > start_ns) {
            i = insert(timeline, i, (struct sc_busy){start_ns, until_ns, rate});
            join(timeline, i);
        }
        if (until_ns == end_ns) return;
        i = index_at(timeline, next.start_ns) + 1;
        start_ns = next.end_ns;
    }
}

void sc_timeline_forget(struct sc_timeline *timeline, uint64_t before_ns)
{
    size_t gone = index_at(timeline, before_ns);
    if (before_ns <= timeline->floor_ns) return;
    timeline->floor_ns = before_ns;
    timeline->count -= gone;
    if (gone) memmove(timeline->list, timeline->list + gone, timeline->count * sizeof *timeline->list);
}

void sc_timeline_destroy(struct sc_timeline *timeline)
{
    free(timeline->list);
    *timeline = (struct sc_timeline){0};
}
