/* How the processes of a pool share the host's memory, computed from their statements. Pure functions;
 * statements are not trusted, so sums saturate. */
#ifndef SLUICE_SHARES_H
#define SLUICE_SHARES_H

#include "node/page.h"

/* The bytes kept for the other processes of the pool. A job with one process present counts with its full
 * size. Of the bytes promised to a job, the used ones count in full and the others by half: the first job is
 * promised everything, but most jobs never use it, and later jobs need memory. `job` not 0: without that
 * job. */
uint64_t sl_shares_kept(const struct sl_node_entry *others, uint32_t count, uint64_t pool, uint64_t job);

/* The bytes that all processes of the pool may have together: `available_bytes`, free at present, plus the
 * bytes that the others use; at most the least total that any of them stated. */
uint64_t sl_shares_total(const struct sl_node_entry *others, uint32_t count, uint64_t pool,
                         uint64_t available_bytes);

/* The bytes that `self`, a process of a job, may have; only its pool, job, size and rank are used. If other
 * processes of the job are present, it gets the least that one of them was promised, else an equal part of
 * what other jobs leave of `total_bytes`. A process with the same rank belongs to another job of the same
 * name. In whole 2 MiB blocks. Precondition: self->size is not 0. */
uint64_t sl_shares_fair(const struct sl_node_entry *others, uint32_t count, const struct sl_node_entry *self,
                        uint64_t total_bytes);

#endif
