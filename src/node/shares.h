/* How the processes of a pool share the host's memory, computed from the table of the node. Pure functions;
 * the table is not trusted, so sums saturate. `own`: the slot of the process that asks, or SL_NODE_SLOTS.
 * `self`: its entry, of which only pool, job, size, rank and part_bytes are used.
 *
 * What processes claimed never exceeds the pool's total, but for limits that users gave. A rank claims no
 * more than the equal part of its job's ranks, which the first of them finds. Of the part that a job's ranks,
 * present or not, have not claimed yet, all other processes leave one half alone: the first job is given
 * everything, but most jobs never use it, and later jobs need memory. Where others have claimed the other
 * half, the ranks have equal parts of what is left. A process that is no rank of a job may claim all the
 * rest, because its need is unknown, and memory in use cannot be taken back for others. */
#ifndef SLUICE_SHARES_H
#define SLUICE_SHARES_H

#include "node/page.h"

/* The bytes that all processes of the pool may have together: `available_bytes`, free at present, plus what
 * the others claimed; at most `most_bytes` and the least total that any of them stated. */
uint64_t sl_shares_total(const struct sl_node_table *table, uint32_t own, uint64_t pool,
                         uint64_t available_bytes, uint64_t most_bytes);

/* For a rank, sets part_bytes: what the job's other ranks have, else an equal part of what is left, in whole
 * 2 MiB blocks. If another process of the job has the same rank, self->job becomes the next number where none
 * has: that is another job of the same name. Precondition: self->size is not 0. */
void sl_shares_join_job(const struct sl_node_table *table, struct sl_node_entry *self, uint64_t total_bytes);

/* The most that the process may claim now. */
uint64_t sl_shares_most(const struct sl_node_table *table, uint32_t own, const struct sl_node_entry *self,
                        uint64_t total_bytes);

#endif
