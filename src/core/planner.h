/* Makes plans, one at a time: in a thread of its own beside the program's launches, or in that of the caller.
 * It calls no driver and takes no lock; pace.h says how much of a core the thread takes. Caller holds the
 * order lock. */
#ifndef SLUICE_PLANNER_H
#define SLUICE_PLANNER_H

#include "move/schedule.h"
#include "plan/plan.h"

struct sl_planner;

/* A plan to be made, and what came of it. */
struct sl_plan_job {
    struct sl_plan_input input; /* what it points to stays as it is until the job is made */
    size_t serve;
    struct sl_plan_lessons *lessons;
    enum sl_chunk_content *at_end; /* gets where the chunks are behind the served launches */
    enum sl_status status;
    struct sl_plan plan;
    struct sl_steps steps;
    struct sl_step *out, *in;   /* room for a step for each chunk: see plan_switch.h */
    uint8_t *marks;             /* zeroed, for each chunk */
    enum sl_chunk_content *now; /* room for each chunk */
    uint64_t cpu_ns;
};

/* `here`: jobs are made where they are given, and always in the same way, however long it takes. */
enum sl_status sl_planner_start(bool here, struct sl_planner **out);
bool sl_planner_is_here(const struct sl_planner *planner);
/* Ends the thread after the job that it is at. Accepts NULL. */
void sl_planner_stop(struct sl_planner *planner);

/* Gives it a job, of which input, serve, lessons and at_end are set. pre: the one before was ended.
 */
void sl_planner_begin(struct sl_planner *planner, const struct sl_plan_job *job);
/* Whether it still makes the job; a load. */
bool sl_planner_is_busy(const struct sl_planner *planner);
/* The job that was made. pre: not busy. */
struct sl_plan_job *sl_planner_job(struct sl_planner *planner);
/* It is of no more use: it is freed. pre: not busy; there is a job. */
void sl_planner_end(struct sl_planner *planner);

/* Makes the job in this thread. */
void sl_plan_job_make(struct sl_plan_job *job);
void sl_plan_job_free(struct sl_plan_job *job); /* accepts a zeroed one, and zeroes it */

#endif
