/* What a rank had done until each of its collectives: how long its launches took, what it fetched, and how
 * long that kept it waiting.
 *
 * How long launches took is summed from those that were timed; one that was not counts as the mean of those
 * like it (shape_times), and one that nothing is known of does not count.
 */
#ifndef SLUICE_TOOL_SPENDING_H
#define SLUICE_TOOL_SPENDING_H

#include "tools/model/model.h"

struct spent {
    uint64_t work_ns; /* of launches, collectives left out */
    uint64_t fetched_bytes;
    uint64_t transfer_ns, transfer_bytes; /* of fetches that were measured */
    uint64_t stall_ns;
};

struct spending {
    struct spent *until;       /* each collective of the model */
    uint64_t timed, estimated; /* launches in work_ns: as measured, and as the mean of others */
    double pace;               /* nanoseconds that fetching a byte takes; 0: not known */
};

/* *out is released with spending_free, also after false: there is no memory. */
bool spending_make(const struct model *model, struct spending *out);
void spending_free(struct spending *spending); /* accepts a zeroed one */

#endif
