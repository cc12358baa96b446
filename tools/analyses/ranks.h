/* The traces of several ranks of one job, compared: which rank came last to a collective, how long the others
 * waited for it, and why it was late.
 *
 * A collective ends on all ranks at about one time, so who came last to it took least: no clocks are
 * compared. With NCCL a rank may be done with a broadcast or a reduction before the others; there it is
 * rough.
 */
#ifndef SLUICE_TOOL_RANKS_H
#define SLUICE_TOOL_RANKS_H

#include "tools/analyses/meetings.h"
#include "tools/analyses/spending.h"

struct rank_books {
    struct spending spending;
    uint64_t compared;  /* collectives in which it and another rank were timed */
    uint64_t waited_ns; /* in all of them, for the last rank */
    uint64_t last;      /* how often it was that rank, and not with another one */
    uint64_t late_ns;   /* by how much later than the last but one: the sum of the next four */
    uint64_t by_work_ns, by_link_ns, by_data_ns, by_host_ns;
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
