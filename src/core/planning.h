/* When plans are made, and by whom: by a thread of its own, for launches to come, or, where data is moved by
 * launches, by the one that needs a plan. Private to the core. */
#ifndef SLUICE_PLANNING_H
#define SLUICE_PLANNING_H

#include "core/forecast.h"
#include "trace/decision.h"

struct sl_budget;
struct sl_history;
struct sl_migrator;
struct sl_planner;
struct sl_policy_traits;
struct sl_scanner;
struct sl_schedule;
struct sl_stats;
struct sl_successors;
struct sl_ticks;

#define SL_PLANNING_CAME 1024
#define SL_PLANNING_LEAD 4 /* eighths, to begin with, where a thread of its own makes plans */

struct sl_planning {
    const struct sl_policy_traits *policy;
    const struct sl_ticks *ticks;
    const struct sl_arena *arena;
    const struct sl_budget *budget;
    struct sl_history *history;
    const struct sl_successors *successors;
    struct sl_scanner *scanner;
    struct sl_migrator *migrator;
    struct sl_schedule *schedule;
    struct sl_stats *stats;
    struct sl_planner *planner; /* NULL: a launch that needs a plan makes it */
    struct sl_forecast forecast;
    struct sl_plan_lessons lessons; /* the planner's while it is busy */
    bool unlearn;                   /* they are of no more use */
    enum {
        SL_PLANNING_IDLE,
        SL_PLANNING_FORECAST,
        SL_PLANNING_PLAN
    } stage;                       /* PLAN: one is being made, or waits for its launch */
    bool continues;                /* what is being planned follows what is carried out */
    uint64_t mispredictions;       /* so far, planned or not */
    uint64_t known_mispredictions; /* what that was when the forecast began */
    uint64_t cancelled;            /* plans that were given up, or would have been; */
    uint64_t known_cancelled;      /* what that was then */
    sl_tick astray_at;             /* the launch from which on the program has gone other ways than the plan
                                      that holds; 0: it has not */
    sl_tick taken_at;              /* the launch in front of which the plan took over */
    uint32_t lacked;               /* launches since then that came as planned and lacked something */
    bool lacked_astray;            /* one that did not come as planned did: what it fetched took the place of
                                      what the plan has stay */
    uint64_t carried_out;          /* the schedule's generation that has the last forecast's plan */
    uint32_t lead_eighths; /* of what a plan serves: so early the next one is begun; 0: when it is needed */
    double first_late;     /* so late the first plan comes, as a part of what a plan serves: see backend.h */
    uint64_t first_from;   /* symbols after which it could come; 0: not yet */
    uint32_t refusals;     /* in a row, of a direction's lock */
    size_t units;          /* for each launch */
    sl_tick begun_at;
    sl_tick begun_anew_at; /* the last that followed no other */
    /* Where streams interleave by chance: the stream histories of the launches since the forecast began, as
     * they came, and for how many of them the steps of the plan that was made were put in that order. */
    uint8_t came[SL_PLANNING_CAME];
    uint32_t came_count, followed;
};

/* Sees to it that there is a plan for what is predicted, or, once a check failed (base/check.h), that there
 * is none. planning->ticks->now is the launch being begun, whose chunks are seen to. Caller holds the order
 * lock, here and below. */
void sl_planning_go_on(struct sl_planning *planning);

#endif
