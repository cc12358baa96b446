/* When launches take place on the simulated clock. A rank tells, for each of its works, when the launch that
 * it is in could begin; a launch begins when all that it meets can. The works of a series are numbered alike
 * on all ranks: the collectives of a communicator, and the messages from one rank to another.
 *
 * A rank's launches come one after the other. So it tells the times of one only when all its peers have told
 * those of the one before, and a peer that has not read those yet is at most one launch behind: SC_TIMES are
 * enough. */
#ifndef SOFTCUDA_NCCL_TIMES_H
#define SOFTCUDA_NCCL_TIMES_H

#include "segment.h"
#include "work.h"

/* By the series' one writer. */
void sc_series_post(struct sc_series *series, const struct sc_time *time);

/* Raises *ready_ns and *busy_ns to those of the works `first` to `last`, exclusively. false: not all of these
 * were told. What is so old that it was overwritten counts as told. */
bool sc_series_read(const struct sc_series *series, uint64_t first, uint64_t last, uint64_t *ready_ns,
                    uint64_t *busy_ns);

/* What the links take for a launch's works, by the usual algorithms: rings, and direct messages. The
 * collectives come one after the other, the messages at the same time, those in one direction sharing the
 * link. */
struct sc_link {
    double bytes_per_ns;
    uint64_t latency_ns;
};
uint64_t sc_link_ns(const struct sc_link *link, const struct sc_work *works, uint32_t count, unsigned rank,
                    unsigned ranks);

#endif
