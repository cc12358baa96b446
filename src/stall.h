/* Launches that have to wait for a fetch, and for how long they did. Caller holds the order lock. */
#ifndef SLUICE_STALL_H
#define SLUICE_STALL_H

#include "core.h"

/* Makes the stream wait for fetch `sequence`, and notes when it got there. */
void sl_stall_wait(struct sl_core *core, sl_stream stream, uint64_t sequence);

#endif
