/* Passes a symbol of the program, an allocation and a free to all parts of the core. Caller holds the order
 * lock, except for sl_core_look and sl_core_give_way. */
#ifndef SLUICE_FEED_H
#define SLUICE_FEED_H

#include "base/types.h"

struct sl_core;

/* Appends a symbol to the history, ends iterations, and handles mispredictions, which may cancel the plan.
 * `expected`: from sl_history_expected. `stream`: the number of the symbol's stream. */
void sl_core_feed(struct sl_core *core, sl_symbol symbol, sl_symbol expected, uint32_t stream);

/* Forgets the program's history, because a table is full. */
void sl_core_forget(struct sl_core *core);

/* Memory is short: from now on plans are made and launches timed. */
void sl_core_under_pressure(struct sl_core *core);

/* Checks the budget (sl_budget_look). If the chunks do not fit it any more, cancels the plan, and the next
 * launch evicts chunks. Precondition: no lock of the core is held. Thread-safe. */
void sl_core_look(struct sl_core *core, bool now);

/* If the budget shrank: cancels the plan if the chunks exceed the budget, and evicts chunks until the others
 * fit. Enqueues. Precondition: no lock of the core is held. Thread-safe. */
void sl_core_give_way(struct sl_core *core);

/* --- what an allocation or a free means for history and trace */

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
