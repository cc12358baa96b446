/* Advice from the trace of another run of the program: another batch size, optimizer or allocator. */
#ifndef SLUICE_TOOL_ADVISE_OTHER_H
#define SLUICE_TOOL_ADVISE_OTHER_H

#include "tools/advise/advice.h"
#include "tools/advise/advise_program.h"

/* Replays the other run with the settings of this one and adds what it does better or worse. False: an error
 * was printed on stderr. */
bool advise_other(const struct situation *situation, const struct step_profile *profile,
                  const struct plan_job *other, struct advice_list *list);

#endif
