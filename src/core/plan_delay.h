/* Where the program is in its plan after it did something unpredicted. An odd launch then costs only the
 * chunks that it lacks itself, not the plan.
 */
#ifndef SLUICE_PLAN_DELAY_H
#define SLUICE_PLAN_DELAY_H

#include "launch/symbols.h"
#include "move/schedule.h"
#include "predict/predictor.h"

#define SL_DELAY_LAUNCHES 8 /* that have to match the plan, if so many are predicted; */
#define SL_DELAY_LEAST 4    /* at least so many */
#define SL_DELAY_MOST 16    /* most launches that the plan is shifted by */

/* Looks for the predicted launches, the first of which is launch `next`, near that place in the plan. *delay:
 * how many launches later they come than planned; negative: earlier, but the plan never begins before tick 1.
 * False: they are not found. Precondition: steps->symbols is set. */
bool sl_plan_delay(const struct sl_predictor *predictor, const struct sl_symbols *symbols,
                   const struct sl_steps *steps, sl_tick next, int64_t *delay);

#endif
