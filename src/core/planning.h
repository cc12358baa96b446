/* Decides when plans are made, and runs the stages: by the planner's thread ahead of time or, in inline mode,
 * by the launch that needs the plan. Private to the core. */
#ifndef SLUICE_PLANNING_H
#define SLUICE_PLANNING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/forecast.h"
#include "core/relayout.h"
#include "launch/symbols.h"
#include "move/schedule.h"
#include "plan/plan.h"
#include "predict/predictor.h"
#include "trace/events.h"

struct sl_core;
struct sl_plan_job;
struct sl_planner;

#define SL_PLANNING_CAME 1024
#define SL_PLANNING_LEAD 4 /* initial lead in thread mode, in eighths */

struct sl_planning {
    struct sl_core *core;       /* whose planning it is */
    struct sl_planner *planner; /* NULL: the launch that needs a plan makes it */
    struct sl_forecast forecast;
    struct sl_relayout relayout;
    uint32_t known_layouts;         /* relayout.done when the forecast began */
    struct sl_plan_lessons lessons; /* belong to the planner while it is busy */
    bool unlearn;                   /* discard the lessons */
    enum {
        SL_PLANNING_IDLE,
        SL_PLANNING_FORECAST,
        SL_PLANNING_PLAN
    } stage;                       /* PLAN: a plan is being made, or waits for its first launch */
    bool continues;                /* the plan in work follows the active one */
    uint64_t mispredictions;       /* mispredictions so far, by predictor or plan */
    uint64_t known_mispredictions; /* their number when the forecast began */
    uint64_t cancelled;            /* plans cancelled so far, including cancels without an active plan */
    uint64_t known_cancelled;      /* their number when the forecast began */
    sl_tick astray_at;     /* the launch at which the program deviated from the active plan, which is kept for
                              now; 0: it follows the plan */
    bool lacked;           /* since the plan took over, a launch that it plans lacked chunks */
    bool lacked_astray;    /* while the program deviated, a launch lacked chunks: fetching them evicted chunks
                              that the plan keeps resident */
    uint64_t carried_out;  /* the schedule's generation that carries out the last forecast's plan */
    uint32_t lead_eighths; /* how early the next plan is begun, in eighths of the served launches; 0: at the
                              last launch */
    double first_late;     /* how late the first plan comes, as a part of what a plan serves: see backend.h */
    uint64_t first_from;   /* symbols fed when the first plan became possible; 0: not yet */
    uint32_t refusals;     /* consecutive failures to lock both directions */
    size_t units;          /* of the forecast that each launch processes */
    sl_tick begun_at;
    sl_tick begun_anew_at; /* the last begin without an active plan */
    /* For streams that interleave by chance: the stream histories of the launches since the forecast began,
     * in real order, and for how many of them the finished plan's steps were reordered. */
    uint8_t came[SL_PLANNING_CAME];
    uint32_t came_count, followed;
};

/* Starts, continues or switches plans as needed; after a failed check (base/check.h) it cancels the plan
 * instead. The core's newest tick is the launch being begun, whose chunks were seen to already. Caller holds
 * the order lock, here and below. */
void sl_planning_go_on(struct sl_planning *planning);

/* --- plan_fit.c: whether a plan fits the program and the chunks, and what happens if it does not: the active
 * plan is delayed or cancelled, and a plan that takes over gets steps that bring the chunks to where it
 * expects them. */

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

/* --- planner.c: makes plans, one at a time, in a thread of its own or in the caller's. It does not call the
 * driver and takes no lock. The thread's processor time is limited. Caller holds the order lock. */

/* A plan to make, and the result. */
struct sl_plan_job {
    struct sl_plan_input input; /* what it points to must not change until the job is made */
    size_t serve;
    struct sl_plan_lessons *lessons;
    enum sl_chunk_content *at_end; /* out: content of the chunks after the served launches */
    enum sl_status status;
    struct sl_plan plan;
    struct sl_steps steps;
    struct sl_step *out, *in;   /* room for plan_fit.c: a step for each chunk */
    uint8_t *marks;             /* by chunk, zeroed */
    enum sl_chunk_content *now; /* by chunk */
    uint64_t cpu_ns;
};

/* `here`: jobs are made by the calling thread, without a limit on time, so the results are reproducible. */
enum sl_status sl_planner_start(bool here, struct sl_planner **out);
bool sl_planner_is_here(const struct sl_planner *planner);
/* stop: ends the thread after its current job; only sl_planner_delete may follow. delete: stops and frees.
 * Both accept NULL. */
void sl_planner_stop(struct sl_planner *planner);
void sl_planner_delete(struct sl_planner *planner);

/* Starts a job with input, serve, lessons and at_end set. Precondition: the previous job was ended. */
void sl_planner_begin(struct sl_planner *planner, const struct sl_plan_job *job);
/* Whether the job is still being made. One load. */
bool sl_planner_is_busy(const struct sl_planner *planner);
/* The finished job. Precondition: not busy. */
struct sl_plan_job *sl_planner_job(struct sl_planner *planner);
/* Frees the finished job. Precondition: not busy, and there is a job. */
void sl_planner_end(struct sl_planner *planner);

/* Lets the thread call `step` with `self` while there is no job, until it returns false. Preconditions: there
 * is a thread, and it has no such work. */
void sl_planner_begin_spare(struct sl_planner *planner, bool (*step)(void *self), void *self);
bool sl_planner_has_spare(const struct sl_planner *planner);

/* Makes the job in the calling thread. */
void sl_plan_job_make(struct sl_plan_job *job);
void sl_plan_job_free(struct sl_plan_job *job); /* zeroes it; accepts a zeroed one */

/* Limits the processor time that the planner's thread spends on searching for better plans. The first
 * plans search without limit; later ones may use a hundredth of the time that plans serve. Not
 * thread-safe. */
#define SL_PACE_FIRST_PLANS 16
#define SL_PACE_SHARE 0.01

struct sl_pace {
    uint64_t plans;
    double owed_ns; /* processor time of the last search that this share has not covered yet; never below 0.
                       While there is some, the next plan is made without a search */
};

/* A plan that serves `served_ns` took `cpu_ns` of processor time. `hurried`: it was made without a search. */
static inline void sl_pace_made(struct sl_pace *pace, uint64_t cpu_ns, double served_ns, bool hurried)
{
    if (++pace->plans < SL_PACE_FIRST_PLANS) return;
    if (!hurried) pace->owed_ns = (double)cpu_ns;
    pace->owed_ns -= SL_PACE_SHARE * served_ns;
    if (pace->owed_ns < 0) pace->owed_ns = 0;
}

#endif
