/* What goes to the trace. Caller holds the order lock. */
#ifndef SLUICE_RECORD_H
#define SLUICE_RECORD_H

#include "core.h"

/* Slabs that were taken since the last time. */
void sl_record_slabs(struct sl_core *core);

/* The launch that was just scanned, and what it may touch. `kernel`: its number, or 0. */
void sl_record_launch(struct sl_core *core, const struct sl_launch *launch, sl_symbol symbol,
                      uint32_t kernel);

/* An allocation or a free of the slot. */
void sl_record_allocation(struct sl_core *core, enum sl_event_type type, uint32_t slot);

#endif
