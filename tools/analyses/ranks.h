/* The traces of several ranks of one job, compared: which rank came last to a collective, how long the others
 * waited for it, and why it was late.
 *
 * A collective ends on all ranks at about one time, so who came last to it took least: no clocks are
 * compared. With NCCL a rank may be done with a broadcast or a reduction before the others; there it is
 * rough.
 *
 * How long a rank's own launches took is summed from those that were timed; one that was not counts as the
 * mean of those like it (shape_times), and one that nothing is known of does not count.
 */
#ifndef SLUICE_TOOL_RANKS_H
#define SLUICE_TOOL_RANKS_H

#include "tools/analyses/meetings.h"

struct rank_books {
    struct rank_spent {
        uint64_t work_ns, fetched_bytes;
    } * until;          /* each collective of the model: what its launches took, collectives left out */
    uint64_t timed;     /* of its launches that are no collectives, how many were timed */
    uint64_t estimated; /* and how many count as the mean of others */
    uint64_t compared;  /* collectives in which it and another rank were timed */
    uint64_t waited_ns; /* in all of them, for the last rank */
    uint64_t last;      /* how often it was that rank, and not with another one */
    uint64_t late_ns;   /* by how much later than the last but one: the sum of the next three */
    uint64_t by_work_ns, by_data_ns, by_host_ns;
};

/* What the collectives of one function and communicator have in common. */
struct rank_kind {
    uint64_t communicator;
    uint32_t function;
    uint64_t count, compared, bytes; /* bytes: of all, on one rank */
    uint64_t waited_ns;              /* by all ranks */
    uint64_t *last_of_rank;          /* how often each came last */
};

struct ranks {
    struct rank_books *books; /* of each rank, in the order of the meetings' */
    size_t count;
    struct rank_kind *kinds; /* by what was waited, most first */
    size_t kind_count;
};

/* *out is released with ranks_free. False: there is no memory, and *out is empty. */
bool ranks_compare(const struct meetings *meetings, struct ranks *out);
void ranks_free(struct ranks *ranks); /* accepts a zeroed one */

#endif
