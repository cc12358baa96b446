/* What an allocation or a free means for history and trace. Caller holds the order lock for all functions. */
#ifndef SLUICE_SLOT_LIFE_H
#define SLUICE_SLOT_LIFE_H

#include "base/types.h"

struct sl_core;

/* Forgets slots that only remember an earlier allocation's place, if there are too many. Call it before an
 * allocation is placed. */
void sl_slot_lives_forget(struct sl_core *core);

/* Prepares the placement of the predicted allocation: it gets the slot and, if there is room, the address
 * of one period ago, because plans rely on them. Call it before an allocation is placed. */
void sl_slot_life_expect(struct sl_core *core);

/* An allocation was just placed in the slot. `tag`: for the shim's own use. */
void sl_slot_life_begin(struct sl_core *core, uint32_t slot, uint32_t tag);

/* Ends the life of slot `s`. Precondition: it is live. */
void sl_slot_life_end(struct sl_core *core, uint32_t s);

#endif
