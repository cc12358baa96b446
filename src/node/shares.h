/* Who may have how much of the host's memory: what those who share it say of themselves decides. Pure
 * functions; what others say is not trusted, so sums end at the largest number. */
#ifndef SLUICE_SHARES_H
#define SLUICE_SHARES_H

#include "node/page.h"

/* What is kept for the others of the pool. A job of which one process is there counts with all of its size.
 * Of what a job was promised counts what is taken, and half of what is not: the first job is promised all
 * that there is, and most jobs never take it, so others must find something. `job` not 0: without that job.
 */
uint64_t sl_shares_kept(const struct sl_node_entry *others, uint32_t count, uint64_t pool, uint64_t job);

/* What all processes of the pool may have together: `available_bytes`, which is there now, and what the
 * others have of it, but no more than any of them took it to be. */
uint64_t sl_shares_total(const struct sl_node_entry *others, uint32_t count, uint64_t pool,
                         uint64_t available_bytes);

/* What `self`, a process of a job, may have; of it pool, job, size and rank are looked at. What others of
 * the job were promised, if one is there, else an equal part of what others leave of `total_bytes`. A process
 * of its rank is not of its job, but of another one of the same name. Whole blocks of 2 MiB. pre:
 * self->size. */
uint64_t sl_shares_fair(const struct sl_node_entry *others, uint32_t count, const struct sl_node_entry *self,
                        uint64_t total_bytes);

#endif
