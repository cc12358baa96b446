/* Decisions of the core and their reasons, for the trace and, with SLUICE_VERBOSE=2, for the log. Any thread
 * may call, except where it says otherwise. */
#ifndef SLUICE_DECIDE_H
#define SLUICE_DECIDE_H

#include "launch/access.h"
#include "move/schedule.h"
#include "trace/events.h"

/* Whether a trace or log takes decisions. */
bool sl_decisions_wanted(void);

/* A plan is begun during launch `tick`. */
void sl_decision_plan_begun(enum sl_begin_reason why, sl_tick tick);

/* The schedule has a new plan. */
void sl_decision_plan_switch(const struct sl_schedule *schedule);

/* The plan goes on, shifted by `delay` launches; negative: the program is ahead of it. Logged with
 * SLUICE_VERBOSE=2 only. */
void sl_decision_plan_goes_on(sl_tick tick, int64_t delay);

/* A plan is discarded. Its first launch is `first`, and `left` of its launches had not begun. `carried_out`:
 * it was being carried out. */
void sl_decision_plan_discarded(enum sl_cancel_reason why, sl_tick first, uint64_t left, bool carried_out);

/* Symbol `came` was fed instead of `expected`, which is not SL_NONE. `tick`: the newest launch. Caller holds
 * the order lock. */
void sl_decision_misprediction(const struct sl_scanner *scanner, sl_tick tick, sl_symbol expected,
                               sl_symbol came);

/* Writes the name of a symbol's kernel, or what else it is, cut to `bytes`. Caller holds the order lock. */
void sl_decision_name(const struct sl_scanner *scanner, sl_symbol symbol, char *out, size_t bytes);

/* `candidates` of `resident` chunks may be evicted for launch `tick`: chunk `first` first, which launch
 * `last_use` used last. */
void sl_decision_victims(uint64_t resident, uint64_t candidates, sl_tick tick, sl_chunk first,
                         sl_tick last_use);

#endif
