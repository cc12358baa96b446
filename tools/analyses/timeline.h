/* One iteration in equal stretches of time: what each of them held in memory, moved and waited for. */
#ifndef SLUICE_TOOL_TIMELINE_H
#define SLUICE_TOOL_TIMELINE_H

#include "tools/analyses/accounts.h"

enum { TIMELINE_MOST = 10000 }; /* stretches */

struct timeline {
    uint64_t begin_ns, end_ns;
    uint32_t count;                           /* of stretches */
    uint8_t *phase;                           /* of each: the one that lasts longest in it */
    uint64_t *resident;                       /* bytes of device memory that are occupied at its end */
    uint64_t *of_class[CLASS_COUNT];          /* of these, or of what lives (`by_class_lives`) */
    uint64_t *moved[DIRECTIONS][MOVE_CAUSES]; /* bytes copied in it */
    uint64_t *busy_ns[DIRECTIONS];            /* time that the link was at it; zeros without transfers */
    uint64_t *stall_ns;                       /* of launches in it */
    bool has_transfers;                       /* as measured; otherwise a copy is where it was issued */
    bool other_clock;                         /* transfers were measured by another clock than launches */
    bool by_class_lives;                      /* where chunks lie is not known: classes count what lives */
    uint64_t *room;                           /* all of these */
};

/* Divides [begin_ns, end_ns) of the trace in `count` stretches, 1 to TIMELINE_MOST. False when there is no
 * memory; timeline_free accepts what is left then. */
bool timeline_make(const struct model *model, const struct phases *phases, uint64_t begin_ns, uint64_t end_ns,
                   uint32_t count, struct timeline *out);
/* Adds `amount`, evenly over [from, to), to the stretches of `row` that it lies in: no byte is lost between
 * them. pre: from < to, or nothing is added. */
void timeline_spread(const struct timeline *timeline, uint64_t *row, uint64_t from, uint64_t to,
                     uint64_t amount);
void timeline_free(struct timeline *timeline);

#endif
