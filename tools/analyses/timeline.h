/* One iteration divided into intervals of equal length: memory, traffic and waits in each. */
#ifndef SLUICE_TOOL_TIMELINE_H
#define SLUICE_TOOL_TIMELINE_H

#include "tools/analyses/accounts.h"

enum { TIMELINE_MOST = 10000 }; /* intervals */

struct timeline {
    uint64_t begin_ns, end_ns;
    uint32_t count;                           /* number of intervals */
    uint8_t *phase;                           /* of each interval: the longest one in it */
    uint64_t *resident;                       /* bytes of device memory occupied at its end */
    uint64_t *of_class[CLASS_COUNT];          /* of these, or of live memory (`by_class_lives`) */
    uint64_t *moved[DIRECTIONS][MOVE_CAUSES]; /* bytes copied in it */
    uint64_t *busy_ns[DIRECTIONS];            /* time during which the link was busy; 0 without transfers */
    uint64_t *stall_ns;                       /* of launches in it */
    bool has_transfers;  /* traffic is measured; otherwise a copy counts at its time of issue */
    bool other_clock;    /* transfers and launches are on different clocks */
    bool by_class_lives; /* the places of chunks are unknown: classes count live memory */
    uint64_t *room;      /* memory of all rows */
};

/* Divides [begin_ns, end_ns) of the trace into `count` intervals, 1 to TIMELINE_MOST. False: out of memory;
 * then pass *out to timeline_free. */
bool timeline_make(const struct model *model, const struct phases *phases, uint64_t begin_ns, uint64_t end_ns,
                   uint32_t count, struct timeline *out);

/* Whether transfers are not on the clock of the program, because a simulated device has its own: too many of
 * them begin before the launches at which they were issued. */
bool device_has_own_clock(const struct model *model);

/* Distributes `amount` evenly over [from, to) to the intervals of `row`, without losing a byte by rounding.
 * Adds nothing if from >= to. */
void timeline_spread(const struct timeline *timeline, uint64_t *row, uint64_t from, uint64_t to,
                     uint64_t amount);
void timeline_free(struct timeline *timeline);

/* The begin of an interval. */
uint64_t timeline_begin_of(const struct timeline *timeline, uint32_t interval);

#endif
