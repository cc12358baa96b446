/* The work of a rank up to each of its collectives: the time of its launches, its fetches, and its waits for
 * them.
 *
 * The time of launches is summed from measured ones; a launch without a measured time counts as the mean of
 * similar ones (shape_times), or as 0 if nothing is known. */
#ifndef SLUICE_TOOL_SPENDING_H
#define SLUICE_TOOL_SPENDING_H

#include "tools/model/model.h"

struct spent {
    uint64_t work_ns; /* of launches other than collectives */
    uint64_t fetched_bytes;
    uint64_t transfer_ns, transfer_bytes; /* of measured fetches */
    uint64_t stall_ns;
};

struct spending {
    struct spent *until;       /* up to each collective of the model */
    uint64_t timed, estimated; /* launches in work_ns: measured, and estimated */
    double pace;               /* nanoseconds for fetching a byte; 0: unknown */
};

/* The caller frees *out with spending_free, also after false: out of memory. */
bool spending_make(const struct model *model, struct spending *out);
void spending_free(struct spending *spending); /* accepts a zeroed one */

#endif
