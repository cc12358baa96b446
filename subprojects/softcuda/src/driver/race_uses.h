/* The bytes that an operation uses, and how it uses them. */
#ifndef SOFTCUDA_RACE_USES_H
#define SOFTCUDA_RACE_USES_H

#include "queue.h"
#include "shadow.h"

/* Checks and records the uses of an executed operation. With SOFTCUDA_RACES=error, a wrong use faults its
 * context. false: no memory. pre: op->clock is set. */
bool sc_race_uses(struct sc_op *op);

/* Reports the uses that advice for read-mostly copies may find finished or not: the host gives it at once,
 * behind what it has waited for (`host`). Other advice is no use of memory. false: no memory. */
bool sc_race_advice(struct sc_op *op, const struct sc_clock *host);

#endif
