/* The traces of several ranks of one job, compared: which rank came last to a collective, how long the others
 * waited for it, and why it was late.
 *
 * A collective ends on all ranks at about one time, so who came last to it took least: no clocks are
 * compared. With NCCL a rank may be done with a broadcast or a reduction before the others; there it is
 * rough. The n-th collective of a communicator is the same one on all ranks that have the communicator.
 * Sends, receives and groups of several calls are no meetings of all ranks and are not compared.
 */
#ifndef SLUICE_TOOL_RANKS_H
#define SLUICE_TOOL_RANKS_H

#include "tools/model/model.h"

/* A collective of one rank. */
struct rank_entry {
    uint64_t communicator, tick, bytes;
    uint32_t function;
    uint64_t took_ns; /* from its begin, so with its wait for the others; where `timed` */
    bool timed;
    uint64_t work_ns, fetched_bytes; /* until then: of all launches that were timed; of all fetches */
};

struct rank_books {
    const struct model *model;
    struct rank_entry *entries; /* by communicator, then by tick */
    size_t entry_count;
    uint64_t compared;  /* collectives in which it and another rank were timed */
    uint64_t waited_ns; /* in all of them, for the last rank */
    uint64_t last;      /* how often it was that rank */
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
    struct rank_books *books; /* of each rank, in the order of the models */
    size_t count;
    struct rank_kind *kinds; /* by what was waited, most first */
    size_t kind_count;
    uint64_t shared; /* collectives that at least two of them took part in */
    uint64_t unlike; /* communicators whose collectives differ between ranks from some point on: no further */
};

/* *out is released with ranks_free. False: there is no memory, and *out is empty. The models outlive it. */
bool ranks_compare(const struct model *const *models, size_t count, struct ranks *out);
void ranks_free(struct ranks *ranks); /* accepts a zeroed one */

#endif
