/* Where a plan stands once the program has done something that was not predicted: one odd launch costs what
 * it lacks itself, not the plan.
 */
#ifndef SLUICE_PLAN_DELAY_H
#define SLUICE_PLAN_DELAY_H

#include "launch/symbols.h"
#include "move/schedule.h"
#include "predict/predictor.h"

#define SL_DELAY_LAUNCHES 8 /* that have to be those of the plan, where so many are predicted; */
#define SL_DELAY_LEAST 4    /* at least so many */
#define SL_DELAY_MOST 16    /* launches too many or too few */

/* Looks for the launches that are predicted now, the first of which is launch `next`, near their place in the
 * plan. *delay: how many launches later they come than the plan has them; negative: earlier, but never so
 * that the plan begins before tick 1. False: they are not there. pre: steps->symbols is set. */
bool sl_plan_delay(const struct sl_predictor *predictor, const struct sl_symbols *symbols,
                   const struct sl_steps *steps, sl_tick next, int64_t *delay);

#endif
