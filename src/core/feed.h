/* What a symbol of the program's brings about in all parts of the core. Caller holds the order lock, but for
 * sl_core_look and sl_core_give_way. */
#ifndef SLUICE_FEED_H
#define SLUICE_FEED_H

#include "base/types.h"

struct sl_core;

/* Appends a symbol to the history: cancels what is planned on a misprediction, ends iterations. `expected`:
 * what sl_history_expected says. `stream`: the number of the one that it belongs to. */
void sl_core_feed(struct sl_core *core, sl_symbol symbol, sl_symbol expected, uint32_t stream);

/* The allocation whose symbol was just fed lies at `address`. `expected`: sl_predictor_expected_note before
 * it was fed. */
void sl_core_placed(struct sl_core *core, uint64_t expected, uint64_t address);

/* Forgets what the program did, where tables have reached their bounds. */
void sl_core_forget(struct sl_core *core);

/* Memory is short: from now on there is something to plan, and it matters how long launches take. */
void sl_core_under_pressure(struct sl_core *core);

/* Looks at the budget, see sl_budget_look; what is planned for more than is left is cancelled, and chunks
 * give way at the next launch. pre: no lock of the core's is held. Thread-safe. */
void sl_core_look(struct sl_core *core, bool now);

/* Where the budget became less: what is planned for more than is left is cancelled, and chunks leave until
 * the others fit. Enqueues. pre: no lock of the core's is held. Thread-safe. */
void sl_core_give_way(struct sl_core *core);

#endif
