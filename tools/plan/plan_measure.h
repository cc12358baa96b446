/* What it cost a traced run to move memory, as far as its transfers show. */
#ifndef SLUICE_TOOL_PLAN_MEASURE_H
#define SLUICE_TOOL_PLAN_MEASURE_H

#include "tools/plan/plan_job.h"

/* Sets *driver to one that takes as long for the run's chunks, and *link to the speed of the link itself.
 * Without enough transfers in both directions at once, *driver is `usual`, and *link stays as plan_job_link
 * has it. */
void plan_measure(const struct replay_job *job, const struct sl_sim_driver *usual,
                  struct sl_sim_driver *driver, struct plan_link *link);

/* The speed that each direction has while both are in use, of its speed alone: 0.5 where they take turns. 0:
 * not known. `in_bytes_per_s`, `out_bytes_per_s`: speeds alone. */
double plan_measure_both(const struct model *model, uint64_t in_bytes_per_s, uint64_t out_bytes_per_s);

/* Splits the time of a chunk in each direction into copying and page-table work, the driver's map_ns, if one
 * thread does both: docs/driver-model.md. False: the times are not of that kind. */
bool plan_measure_split(uint64_t chunk_bytes, struct sl_sim_driver *driver, struct plan_link *link);

#endif
