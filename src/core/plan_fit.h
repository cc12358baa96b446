/* Whether the plan that is carried out still fits what the program does, and what happens if it does not.
 * Caller holds the order lock. Private to the core. */
#ifndef SLUICE_PLAN_FIT_H
#define SLUICE_PLAN_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/decision.h"

struct sl_planning;

/* The program has left the plan's way: whether it is back on it, or the plan was given up. */
bool sl_planning_is_on_its_way(struct sl_planning *planning);

/* Whether the predictor knows well where the program is. A misprediction in a place where this followed
 * before is no reason to wait and see. */
bool sl_planning_knows_place(const struct sl_planning *planning);

/* The program went other ways than the plan, which still holds: the next one is made soon, but not too soon
 * after it. */
void sl_planning_hasten(struct sl_planning *planning);

/* What is planned is not issued any more. */
void sl_planning_cancel(struct sl_planning *planning, enum sl_cancel_reason why);

/* A symbol was not predicted, or did not come as planned: a plan that holds is cancelled, unless the program
 * soon goes on as it has it and such things are rare. `alike`: it uses the chunks of the one that was
 * predicted, so the plan holds. */
void sl_planning_mispredicted(struct sl_planning *planning, bool alike);

/* The launch that is being begun lacks something. If it came as planned nevertheless, and that is true too
 * often, the plan is cancelled. */
void sl_planning_lacks(struct sl_planning *planning);

/* A launch of the stream history `history` was predicted as that one's next. Whether a plan that holds knows
 * of it, though it may come earlier or later than was thought. */
bool sl_planning_knows(struct sl_planning *planning, uint8_t history);

#endif
