/* All advice for a run, ranked. */
#ifndef SLUICE_TOOL_ADVISE_H
#define SLUICE_TOOL_ADVISE_H

#include "tools/advise/advice.h"
#include "tools/advise/situation.h"

/* `other`: another run of the program to compare with, with its path for messages; or NULL. False: an error
 * was printed on stderr. */
bool advise_find(const struct plan_job *job, const struct situation_wish *wish, const struct plan_job *other,
                 struct situation *situation, struct advice_list *list);

#endif
