#include "core/planning.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/test_hooks.h"
#include "move/steps.h"

enum state { FREE, TO_MAKE, MADE, TO_FREE, STOPPING };
#define SPARE ((uint32_t)8) /* a flag beside the state: there is work for spare time */

struct sl_planner {
    pthread_t thread;
    bool here;                /* there is no thread */
    _Atomic uint32_t state;   /* the futex word */
    bool (*step)(void *self); /* work for spare time; the thread's while there is some */
    void *self;
    struct sl_plan_job job;  /* the caller's in state MADE, else the thread's */
    struct sl_plan_job next; /* the caller's, except in state TO_MAKE */
    struct sl_pace pace;
};

void sl_plan_job_free(struct sl_plan_job *job)
{
    sl_plan_free(&job->plan);
    sl_steps_free(&job->steps);
    free(job->out);
    free(job->in);
    free(job->marks);
    free(job->now);
    *job = (struct sl_plan_job){0};
}

static bool reserve(struct sl_plan_job *job)
{
    size_t chunks = job->input.chunk_count + 1;
    job->out = malloc(chunks * sizeof *job->out);
    job->in = malloc(chunks * sizeof *job->in);
    job->marks = calloc(chunks, sizeof *job->marks);
    job->now = malloc(chunks * sizeof *job->now);
    return job->out && job->in && job->marks && job->now;
}

void sl_plan_job_make(struct sl_plan_job *job)
{
    uint64_t start = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    job->status = reserve(job) ? sl_plan_make(&job->input, job->lessons, &job->plan) : SL_ERR_NO_MEMORY;
    if (job->status == SL_OK) sl_plan_content(&job->input, &job->plan, job->serve, job->at_end);
    if (job->status == SL_OK) SL_WRONG_PLAN(&job->input, &job->plan);
    if (job->status == SL_OK)
        job->status = sl_steps_new(&job->plan, &job->input, job->serve, job->input.chunk_count, &job->steps);
    job->cpu_ns = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void make_next(struct sl_planner *planner)
{
    struct sl_plan_job *job = &planner->job;
    sl_plan_job_free(job);
    *job = planner->next;
    job->input.hurried = !planner->here && planner->pace.owed_ns > 0;
    sl_plan_job_make(job);
    SL_TEST_DELAY(PLAN);
    if (job->status || job->plan.seconds_ns == 0) return;
    double part = (double)job->serve / (double)job->input.launch_count;
    sl_pace_made(&planner->pace, job->cpu_ns, part * (double)job->plan.seconds_ns, job->input.hurried);
}

/* From `from` to `to`, unless another thread has changed the state. */
static void change(struct sl_planner *planner, enum state from, enum state to)
{
    uint32_t state = atomic_load(&planner->state);
    while ((state & ~SPARE) == from &&
           !atomic_compare_exchange_weak(&planner->state, &state, to | (state & SPARE))) {
    }
}

static void *work(void *argument)
{
    struct sl_planner *planner = argument;
    for (;;) {
        uint32_t state = atomic_load(&planner->state);
        switch (state & ~SPARE) {
        case STOPPING:
            return NULL;
        case TO_MAKE:
            make_next(planner);
            change(planner, TO_MAKE, MADE);
            break;
        case TO_FREE:
            sl_plan_job_free(&planner->job);
            change(planner, TO_FREE, FREE);
            break;
        default:
            if (!(state & SPARE))
                syscall(SYS_futex, &planner->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
            else if (!planner->step(planner->self))
                atomic_fetch_and(&planner->state, ~SPARE);
        }
    }
}

static void wake(struct sl_planner *planner)
{
    syscall(SYS_futex, &planner->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void set_state(struct sl_planner *planner, enum state to)
{
    uint32_t state = atomic_load(&planner->state);
    while (!atomic_compare_exchange_weak(&planner->state, &state, to | (state & SPARE))) {
    }
    wake(planner);
}

enum sl_status sl_planner_start(bool here, struct sl_planner **out)
{
    struct sl_planner *planner = calloc(1, sizeof *planner);
    if (!planner) return SL_ERR_NO_MEMORY;
    planner->here = here;
    if (!here && sl_thread_start(&planner->thread, "sluice-plan", work, planner)) {
        free(planner);
        return SL_ERR_IO;
    }
    *out = planner;
    return SL_OK;
}

bool sl_planner_is_here(const struct sl_planner *planner)
{
    return planner->here;
}

void sl_planner_stop(struct sl_planner *planner)
{
    if (!planner) return;
    if (planner->here || (atomic_load(&planner->state) & ~SPARE) == STOPPING) return;
    set_state(planner, STOPPING);
    pthread_join(planner->thread, NULL);
}

void sl_planner_delete(struct sl_planner *planner)
{
    if (!planner) return;
    sl_planner_stop(planner);
    sl_plan_job_free(&planner->job);
    free(planner);
}

void sl_planner_begin(struct sl_planner *planner, const struct sl_plan_job *job)
{
    planner->next = *job;
    if (planner->here)
        make_next(planner);
    else
        set_state(planner, TO_MAKE);
}

bool sl_planner_is_busy(const struct sl_planner *planner)
{
    return (atomic_load_explicit(&planner->state, memory_order_acquire) & ~SPARE) == TO_MAKE;
}

struct sl_plan_job *sl_planner_job(struct sl_planner *planner)
{
    return &planner->job;
}

void sl_planner_end(struct sl_planner *planner)
{
    if (planner->here)
        sl_plan_job_free(&planner->job);
    else
        set_state(planner, TO_FREE);
}

void sl_planner_begin_spare(struct sl_planner *planner, bool (*step)(void *self), void *self)
{
    planner->step = step;
    planner->self = self;
    atomic_fetch_or(&planner->state, SPARE);
    wake(planner);
}

bool sl_planner_has_spare(const struct sl_planner *planner)
{
    return atomic_load_explicit(&planner->state, memory_order_acquire) & SPARE;
}
