/* Advice about sluice's own options, each simulated: budget, chunk size, daemon, policy, attempts, pinned
 * memory, and those that help together. */
#ifndef SLUICE_TOOL_ADVISE_SETTINGS_H
#define SLUICE_TOOL_ADVISE_SETTINGS_H

#include "tools/advise/advice.h"
#include "tools/advise/situation.h"

/* Whether the step takes hardly longer than the link needs: then no other order of movements helps. */
bool link_is_the_floor(const struct situation *situation);

/* A smaller budget with almost no loss, and a larger one that pays. False: an error was printed on stderr. */
bool advise_budgets(const struct situation *situation, struct advice_list *list);

/* The other options. */
bool advise_options(const struct situation *situation, struct advice_list *list);

#endif
