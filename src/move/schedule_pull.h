/* Reorders a plan for streams that interleave by chance, when a launch comes earlier than planned. */
#ifndef SLUICE_SCHEDULE_PULL_H
#define SLUICE_SCHEDULE_PULL_H

#include "move/schedule.h"

/* Launch `tick`, which is being begun, is the next one of stream history `history`. If the plan has other
 * launches before it, moves it in front of them: its fetches come first, and chunks that only its stream
 * history uses are evicted after it. All other evictions wait until the same launches as before have run.
 * *early: the number of launches that it passed. False: the plan has no such launch within SL_SCHEDULE_REACH,
 * or the directions' locks are held for long. Caller holds the order lock. Precondition: the plan is for
 * stream histories. */
#define SL_SCHEDULE_REACH 256
bool sl_schedule_pull(struct sl_schedule *schedule, sl_tick tick, uint8_t history, size_t *early);
/* The same for steps of which none was issued. The caller owns them. */
bool sl_steps_pull(struct sl_steps *steps, sl_tick tick, uint8_t history);
/* For a plan for stream histories: the last fetched chunk that no launch has used since and that launch
 * `tick` does not use; else SL_NONE. Its fetch counts as not issued again, and the caller evicts the chunk.
 * Caller holds the order lock and both directions' locks. */
sl_chunk sl_schedule_take_back(struct sl_schedule *schedule, sl_tick tick);

#endif
