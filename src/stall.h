/* Launches that have to wait for a fetch, and for how long they did. */
#ifndef SLUICE_STALL_H
#define SLUICE_STALL_H

#include "core.h"

/* The launch being begun has to wait. NULL: it is not measured for how long. Caller holds the order lock. */
struct sl_stall *sl_stall_new(struct sl_core *core);
/* Makes the stream wait for fetch `sequence`; `stall`, or NULL, notes when it got there. Enqueues: the order
 * lock must not be held. */
void sl_stall_wait(struct sl_core *core, struct sl_stall *stall, sl_stream stream, uint64_t sequence);

#endif
