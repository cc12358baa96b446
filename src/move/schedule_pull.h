/* Launches of a plan for stream histories that come before others which the plan has in front of them. */
#ifndef SLUICE_SCHEDULE_PULL_H
#define SLUICE_SCHEDULE_PULL_H

#include "move/schedule.h"

/* Launch `tick`, which is being begun, is the next one of `history`. If it comes before others that the plan
 * has in front of it, the plan goes on with these behind it: what it needs comes first, what its stream
 * history alone uses leaves after it, and all else that leaves does so no earlier than when all the same
 * launches have run. *early: how many it came before. False: the plan has no such launch within
 * SL_SCHEDULE_REACH, or somebody moves something for long. Caller holds the order lock. pre: the plan is for
 * stream histories. */
#define SL_SCHEDULE_REACH 256
bool sl_schedule_pull(struct sl_schedule *schedule, sl_tick tick, uint8_t history, size_t *early);
/* The same for steps of which nothing was issued. Caller: whoever owns them. */
bool sl_steps_pull(struct sl_steps *steps, sl_tick tick, uint8_t history);
/* Of a plan for stream histories: the chunk that was fetched last of those that nobody used since and that
 * launch `tick` does not use. Its fetch then counts as not issued, and the caller has it leave. Or
 * SL_NONE. Caller holds the order lock and both directions' locks. */
sl_chunk sl_schedule_take_back(struct sl_schedule *schedule, sl_tick tick);

#endif
