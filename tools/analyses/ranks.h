/* Compares the traces of the ranks of one job: which rank came last to a collective, how long the others
 * waited for it, and why it was late.
 *
 * A collective ends on all ranks at about the same time, so the last rank took least; no clocks are compared.
 * With NCCL, a rank may finish a broadcast or a reduction before the others; for these the result is
 * approximate. */
#ifndef SLUICE_TOOL_RANKS_H
#define SLUICE_TOOL_RANKS_H

#include "tools/analyses/meetings.h"
#include "tools/analyses/spending.h"

struct rank_books {
    struct spending spending;
    uint64_t compared;  /* collectives for which it and another rank were timed */
    uint64_t waited_ns; /* in these, for the last rank */
    uint64_t last;      /* number of times that it alone was the last rank */
    uint64_t late_ns;   /* total delay after the last rank but one: the sum of the next four */
    uint64_t by_work_ns, by_link_ns, by_data_ns, by_host_ns;
};

/* The collectives of one function and communicator. */
struct rank_kind {
    uint64_t communicator;
    uint32_t function;
    uint64_t count, compared, bytes; /* bytes: total, on one rank */
    uint64_t waited_ns;              /* by all ranks */
    uint64_t *last_of_rank;          /* number of times that each came last */
};

struct ranks {
    struct rank_books *books; /* of each rank, in the order of the meetings' */
    size_t count;
    struct rank_kind *kinds; /* longest waits first */
    size_t kind_count;
};

/* The caller frees *out with ranks_free. False: out of memory, and *out is empty. */
bool ranks_compare(const struct meetings *meetings, struct ranks *out);
void ranks_free(struct ranks *ranks); /* accepts a zeroed one */

#endif
