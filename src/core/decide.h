/* What the core decided and why, for the trace and, with SLUICE_VERBOSE=2, for the log. Any thread, but for
 * sl_decision_misprediction. */
#ifndef SLUICE_DECIDE_H
#define SLUICE_DECIDE_H

#include "launch/access.h"
#include "move/schedule.h"
#include "trace/decision.h"

/* Whether decisions go anywhere. */
bool sl_decisions_wanted(void);

/* A plan is begun while launch `tick` is. */
void sl_decision_plan_begun(enum sl_begin_reason why, sl_tick tick);

/* The schedule has a new plan. */
void sl_decision_plan_switch(const struct sl_schedule *schedule);

/* The program goes on as the plan has it, so many launches later than that; negative: earlier. Said with
 * SLUICE_VERBOSE=2 only. */
void sl_decision_plan_goes_on(sl_tick tick, int64_t delay);

/* A plan is discarded: one whose first launch is `first` and of whose launches `left` were still to come.
 * `carried_out`: it was, until now. */
void sl_decision_plan_discarded(enum sl_cancel_reason why, sl_tick first, uint64_t left, bool carried_out);

/* `came` came, the newest launch being `tick`, where `expected`, which is not SL_NONE, was expected. Caller
 * holds the order lock. */
void sl_decision_misprediction(const struct sl_scanner *scanner, sl_tick tick, sl_symbol expected,
                               sl_symbol came);

/* Of `resident` chunks on the device `candidates` may leave for launch `tick`, `first` first, which launch
 * `last_use` used last. */
void sl_decision_victims(uint64_t resident, uint64_t candidates, sl_tick tick, sl_chunk first,
                         sl_tick last_use);

#endif
