/* When something that does one thing at a time is busy: an engine, a thread of the driver's, a lock.
 *
 * Work need not be placed in the order of its time: what is ready early takes the first gap that is long
 * enough, whatever was placed before. A zeroed structure is empty. If memory runs out, an interval is dropped
 * and counted in `lost`. Thread safety: none.
 */
#ifndef SOFTCUDA_TIMELINE_H
#define SOFTCUDA_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

/* The later of two moments. */
static inline uint64_t sc_later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

struct sc_busy {
    uint64_t start_ns, end_ns;
    double rate; /* what goes on meanwhile, bytes each ns; 0 where that means nothing */
};

struct sc_timeline {
    struct sc_busy *list; /* disjoint, in order of time; neighbours that touch differ in rate */
    size_t count, capacity;
    uint64_t floor_ns; /* what was before has been forgotten: nothing may be placed there */
    size_t lost;
};

/* The first interval that ends after `at_ns`, or NULL. */
const struct sc_busy *sc_timeline_at(const struct sc_timeline *timeline, uint64_t at_ns);

/* The first moment from `at_ns` on at which it is not busy. */
uint64_t sc_timeline_idle(const struct sc_timeline *timeline, uint64_t at_ns);

/* The first moment from `at_ns` on at which it is not busy for `length_ns`. */
uint64_t sc_timeline_gap(const struct sc_timeline *timeline, uint64_t at_ns, uint64_t length_ns);

/* The end of the last interval; 0: there is none. */
uint64_t sc_timeline_end(const struct sc_timeline *timeline);

/* It is busy from `start_ns` to `end_ns`. Parts that are busy already stay as they are. */
void sc_timeline_book(struct sc_timeline *timeline, uint64_t start_ns, uint64_t end_ns, double rate);

/* Bounds the memory: forgets what ended before `before_ns`. pre: nothing that is placed later is ready
 * before. */
void sc_timeline_forget(struct sc_timeline *timeline, uint64_t before_ns);

void sc_timeline_destroy(struct sc_timeline *timeline);

#endif
