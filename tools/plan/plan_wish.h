/* What `sluice plan` tries unless it is told otherwise. */
#ifndef SLUICE_TOOL_PLAN_WISH_H
#define SLUICE_TOOL_PLAN_WISH_H

#include "tools/plan/configurations.h"

enum { PLAN_BOTH_PERCENT = 92, PLAN_ATTEMPTS = 8 }; /* defaults of --both and --plan-attempts */

/* How data between ranks travels: not over the link to the host if a long collective was faster than it; over
 * that link; over links of their own. */
enum plan_peers { PEERS_AUTO, PEERS_LINK, PEERS_OWN };

/* Fills the empty lists of a wish: budgets, chunk sizes, policies (which the caller frees) and links, as
 * measured. `sharers`: ranks that share each given or assumed link. */
void plan_complete_wish(struct plan_wish *wish, const struct replay_job *job, uint64_t sharers,
                        enum plan_peers peers);

#endif
