/* Decides when plans are made, and runs the stages: by the planner's thread ahead of time or, in inline mode,
 * by the launch that needs the plan. Private to the core. */
#ifndef SLUICE_PLANNING_H
#define SLUICE_PLANNING_H

#include "core/forecast.h"
#include "core/relayout.h"
#include "trace/events.h"

struct sl_core;
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

#endif
