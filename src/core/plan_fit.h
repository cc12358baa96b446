/* Decides whether the active plan still fits the program, and what happens if it does not. Caller holds the
 * order lock. Private to the core. */
#ifndef SLUICE_PLAN_FIT_H
#define SLUICE_PLAN_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/events.h"

struct sl_planning;

/* After a launch that did not match the plan: delays or cancels the plan, or waits for further launches.
 * Returns whether planning may go on: the launches match the plan (again), or the plan was cancelled. */
bool sl_planning_find_way(struct sl_planning *planning);

/* Whether the predictor is sure where the program is: enough symbols in a row were predicted, or a long
 * context matches. */
bool sl_planning_knows_place(const struct sl_planning *planning);

/* The active plan fits badly: ends its served part at once, so that the next plan is begun. Does nothing if a
 * plan was begun only a few launches ago. */
void sl_planning_hasten(struct sl_planning *planning);

/* Cancels the plan: none of its further steps is issued. */
void sl_planning_cancel(struct sl_planning *planning, enum sl_cancel_reason why);

/* A symbol was not predicted or not planned. The active plan is cancelled if mispredictions are frequent or
 * its launches are unknown; else it is kept for some launches, to see whether the program continues it.
 * `alike`: the symbol uses the same chunks as the predicted one, so the plan still fits. */
void sl_planning_mispredicted(struct sl_planning *planning, bool alike);

/* The launch being begun lacks chunks. If the program deviated from the plan and follows it again, the chunks
 * that were fetched meanwhile took the place of planned ones: the plan is hastened. */
void sl_planning_lacks(struct sl_planning *planning);

/* A launch was predicted as the next one of stream history `history`. Returns whether the active plan
 * contains it, perhaps earlier or later; true if no plan is active. */
bool sl_planning_knows(struct sl_planning *planning, uint8_t history);

#endif
