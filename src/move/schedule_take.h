/* How a plan becomes the schedule: its steps are laid out without any lock, and then replace those of the
 * plan before. */
#ifndef SLUICE_SCHEDULE_TAKE_H
#define SLUICE_SCHEDULE_TAKE_H

#include "move/schedule.h"

/* Makes the plan ready for sl_schedule_take. `serve`: how many of the input's launches are to be carried out.
 * `room`: how many steps may be taken over. Thread-safe. On SL_OK *out is released with sl_steps_free or
 * taken. */
enum sl_status sl_steps_new(const struct sl_plan *plan, const struct sl_plan_input *input, size_t serve,
                            size_t room, struct sl_steps *out);
void sl_steps_free(struct sl_steps *steps); /* accepts zeroed ones */

/* What is planned for each launch is done so many launches later than the plan has it, or, negative, earlier:
 * some came that nobody predicted, or did not come. pre: that is not before tick 1. Caller: whoever owns the
 * steps. */
void sl_steps_delay(struct sl_steps *steps, int64_t launches);
/* The same for what is carried out. False: somebody moves something for long, and nothing was changed. Caller
 * holds the order lock. */
bool sl_schedule_delay(struct sl_schedule *schedule, int64_t launches);

/* Replaces what there was by `steps`, which are the schedule's from then on; what there was is in *steps
 * then, to be freed. Caller holds the order lock and both directions' locks. */
void sl_schedule_take(struct sl_schedule *schedule, struct sl_steps *steps);

/* The same while launch `tick` is being begun, which may be a later one than that in front of the plan: what
 * the plan had to be issued before is left out. Instead `out` leaves and then `in` comes, which is in the
 * order of its deadlines and whose `waits_for` counts evictions of `out`. pre: room for both, and the plan
 * covers the next launch. */
void sl_schedule_switch(struct sl_schedule *schedule, struct sl_steps *steps, sl_tick tick,
                        const struct sl_step *out, uint32_t out_count, const struct sl_step *in,
                        uint32_t in_count);

#endif
