/* What follows from an allocation, or a free, for the rest of the core: history and trace. Caller holds the
 * order lock throughout. */
#ifndef SLUICE_SLOT_LIFE_H
#define SLUICE_SLOT_LIFE_H

#include "base/types.h"

struct sl_core;

/* Forgets slots that only remember where an allocation was, if there are too many. To be called before an
 * allocation is placed. */
void sl_slot_lives_forget(struct sl_core *core);

/* An allocation that comes as it came a period ago takes the slot that it took then, and lies where it lay
 * then, if there is room: plans are made for that. To be called before an allocation is placed. */
void sl_slot_life_expect(struct sl_core *core);

/* An allocation was just placed. `tag`: the shim's note about it. */
void sl_slot_life_begin(struct sl_core *core, uint32_t slot, uint32_t tag);

/* Ends the life of slot `s`. pre: it is live. */
void sl_slot_life_end(struct sl_core *core, uint32_t s);

#endif
