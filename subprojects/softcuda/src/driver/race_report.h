/* Reports races: each pair of operations from the same two call sites once. */
#ifndef SOFTCUDA_RACE_REPORT_H
#define SOFTCUDA_RACE_REPORT_H

#include "shadow.h"

/* `later` was submitted after the operation of the finding. */
void sc_race_report(const struct sc_actor *later, const struct sc_finding *finding);
/* The number of different races found. */
uint64_t sc_race_report_count(void);
void sc_race_report_close(void); /* at exit: logs how many there were, if any */

#endif
