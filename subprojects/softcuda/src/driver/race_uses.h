/* From an operation to the bytes it uses, and how. */
#ifndef SOFTCUDA_RACE_USES_H
#define SOFTCUDA_RACE_USES_H

#include "queue.h"
#include "shadow.h"

/* Judges and remembers what an executed operation used. With SOFTCUDA_RACES=error its context faults if that
 * was wrong. false: no memory. pre: op->clock is set. */
bool sc_race_uses(struct sc_op *op);

#endif
