/* The steps of a schedule: laid out from a plan without a lock, put in place of the previous ones, and
 * shifted or reordered if launches come otherwise than planned. */
#ifndef SLUICE_STEPS_H
#define SLUICE_STEPS_H

#include "move/schedule.h"

/* Lays out the plan for sl_schedule_take. `serve`: number of launches to carry out. `room`: number of steps
 * that may be added in front. Thread-safe. On SL_OK *out is released with sl_steps_free, or taken. */
enum sl_status sl_steps_new(const struct sl_plan *plan, const struct sl_plan_input *input, size_t serve,
                            size_t room, struct sl_steps *out);
void sl_steps_free(struct sl_steps *steps); /* accepts zeroed ones */

/* Shifts all steps by so many launches; negative: earlier. For a program that had unpredicted launches, or
 * left launches out. Precondition: the plan then does not begin before tick 1. The caller owns the steps. */
void sl_steps_delay(struct sl_steps *steps, int64_t launches);
/* The same for the active schedule. False: the directions' locks are held for long, and nothing was changed.
 * Caller holds the order lock. */
bool sl_schedule_delay(struct sl_schedule *schedule, int64_t launches);

/* Replaces the schedule's steps by `steps`; *steps then has the previous ones, to be freed. Caller holds the
 * order lock and both directions' locks. */
void sl_schedule_take(struct sl_schedule *schedule, struct sl_steps *steps);

/* The same while launch `tick` is being begun, which may be inside the plan. Steps of the plan that were due
 * before it are left out. Instead `out` is evicted first and then `in` is fetched, which is in the order of
 * deadlines and whose `waits_for` counts evictions of `out`. Precondition: there is room for both, and the
 * plan covers the next launch. */
void sl_schedule_switch(struct sl_schedule *schedule, struct sl_steps *steps, sl_tick tick,
                        const struct sl_step *out, uint32_t out_count, const struct sl_step *in,
                        uint32_t in_count);

/* --- for streams that interleave by chance */

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

/* The first launch of the plan, from index `launch` on, that uses the chunk; UINT32_MAX: none, or unknown. */
uint32_t sl_planned_uses_next(const struct sl_planned_uses *uses, sl_chunk chunk, size_t launch);

#endif
