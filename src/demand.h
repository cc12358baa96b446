/* Fetching on demand: what a launch needs and nobody brought. Victims are dead chunks, then the least
 * recently used or those that came first, as the policy has it, and last what is due. Used while nothing is
 * predicted, after surprises, and by the policies that plan nothing. */
#ifndef SLUICE_DEMAND_H
#define SLUICE_DEMAND_H

#include "core.h"

/* Bytes of the launch's chunks that take frames: what is pinned takes none. */
uint64_t sl_demand_own_bytes(const struct sl_core *core);

/* Brings those of core->touched that are not resident, evicting what launch `tick` does not use. A launch
 * whose own chunks exceed the budget gets what fits beside what is there, and uses the rest in place. Returns
 * the number of chunks that were missing. Caller holds the order lock. */
uint32_t sl_demand_bring(struct sl_core *core, sl_tick tick);

/* Brings what is due (due.h), as much as the link has had the time for while launches had nothing to wait
 * for. Caller holds the order lock. */
void sl_demand_bring_due(struct sl_core *core);

/* Whether core->touched has a chunk that is not resident, or only in part. */
bool sl_demand_lacking(const struct sl_core *core);

/* Where the driver moves memory: what core->touched names it brings itself, as the launch uses it. Caller
 * holds the order lock. */
void sl_demand_leave_to_driver(struct sl_core *core);

#endif
