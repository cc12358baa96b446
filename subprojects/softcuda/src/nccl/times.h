/* The times of launches on the simulated clock. A rank publishes, for each of its works, when the launch that
 * contains it could begin; a launch begins when all launches that it meets can begin. The works of a series
 * are numbered alike on all ranks: the collectives of a communicator, and the messages from one rank to
 * another.
 *
 * A rank's launches run one after the other. So it publishes the times of a launch only after all its peers
 * have published those of the previous one, and a peer that has not read those yet is at most one launch
 * behind: SC_TIMES entries suffice. */
#ifndef SOFTCUDA_NCCL_TIMES_H
#define SOFTCUDA_NCCL_TIMES_H

#include "segment.h"
#include "work.h"

/* Called by the series' only writer. */
void sc_series_post(struct sc_series *series, const struct sc_time *time);

/* Raises *ready_ns and *busy_ns to the maximum over the works [first, last). false: some of them were not
 * published yet. Overwritten entries count as published. */
bool sc_series_read(const struct sc_series *series, uint64_t first, uint64_t last, uint64_t *ready_ns,
                    uint64_t *busy_ns);

/* The time that the links need for a launch's works, with the usual algorithms: rings, and direct messages.
 * Collectives run one after the other; messages run at the same time, and those in one direction share the
 * link. */
struct sc_link {
    double bytes_per_ns;
    uint64_t latency_ns;
};
uint64_t sc_link_ns(const struct sc_link *link, const struct sc_work *works, uint32_t count, unsigned rank,
                    unsigned ranks);

#endif
