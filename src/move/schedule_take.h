/* Turns a plan into a schedule: lays out its steps without a lock, and then replaces the previous steps. */
#ifndef SLUICE_SCHEDULE_TAKE_H
#define SLUICE_SCHEDULE_TAKE_H

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

#endif
