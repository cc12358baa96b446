/* What `sluice plan` tries unless it is told otherwise. */
#ifndef SLUICE_TOOL_PLAN_WISH_H
#define SLUICE_TOOL_PLAN_WISH_H

#include "tools/plan/plan_job.h"

/* Fills the empty lists of a wish: budgets, chunk sizes, policies (which the caller frees) and links, as
 * measured. `sharers`: ranks that share each given or assumed link. */
void plan_complete_wish(struct plan_wish *wish, const struct replay_job *job, uint64_t sharers,
                        enum plan_peers peers);

#endif
