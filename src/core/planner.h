/* Makes plans, one at a time, in a thread of its own or in the caller's. It does not call the driver and
 * takes no lock. The thread's processor time is limited. Caller holds the order lock. */
#ifndef SLUICE_PLANNER_H
#define SLUICE_PLANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "move/schedule.h"
#include "plan/plan.h"

struct sl_planner;

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
