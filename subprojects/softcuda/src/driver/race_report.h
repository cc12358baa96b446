/* What is said about a race: once for each pair of operations that the same places of the program submit. */
#ifndef SOFTCUDA_RACE_REPORT_H
#define SOFTCUDA_RACE_REPORT_H

#include "shadow.h"

/* `later` was submitted after the operation of the finding. */
void sc_race_report(const struct sc_actor *later, const struct sc_finding *finding);
/* How many different ones were found. */
uint64_t sc_race_report_count(void);
void sc_race_report_close(void); /* at exit: says how many there were, if any */

#endif
