/* Whether a plan fits the program and the chunks, and what happens if it does not: the active plan is delayed
 * or cancelled, and a plan that takes over gets steps that bring the chunks to where it expects them. Caller
 * holds the order lock. Private to the core. */
#ifndef SLUICE_PLAN_FIT_H
#define SLUICE_PLAN_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/planner.h"
#include "launch/symbols.h"
#include "move/schedule.h"
#include "predict/predictor.h"
#include "trace/events.h"

struct sl_planning;

#define SL_DELAY_LAUNCHES 8 /* that have to match the plan, if so many are predicted; */
#define SL_DELAY_LEAST 4    /* at least so many */
#define SL_DELAY_MOST 16    /* most launches that the plan is shifted by */

/* Finds where the program is in its plan after it did something unpredicted: an odd launch then costs only
 * the chunks that it lacks itself, not the plan. Looks for the predicted launches, the first of which is
 * launch `next`, near that place in the plan. *delay: how many launches later they come than planned;
 * negative: earlier, but the plan never begins before tick 1. False: they are not found. Precondition:
 * steps->symbols is set. */
bool sl_plan_delay(const struct sl_predictor *predictor, const struct sl_symbols *symbols,
                   const struct sl_steps *steps, sl_tick next, int64_t *delay);

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

/* Makes the job's plan the schedule, from the next launch on, while the newest launch is being begun.
 * The chunks may differ from its input, because that was a prediction, or because the plan comes late. Chunks
 * that should have been evicted are evicted first; chunks that should have been fetched are fetched in time
 * for their next use. `follows`: the plan begins with the next launch, where the active plan ends. Then only
 * steps of the active plan that were not issued, and a sixteenth of the chunks, in turn, are compared.
 * Precondition: the plan covers the next launch. Caller holds the order lock and both directions' locks. */
void sl_plan_switch(const struct sl_planning *planning, struct sl_plan_job *job, bool follows);

#endif
