#include "planner.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "plan_content.h"
#include "thread.h"

enum state { FREE, TO_MAKE, MADE, STOPPING };

struct sl_planner {
    pthread_t thread;
    _Atomic uint32_t state; /* the futex */
    struct sl_plan_job job; /* the thread's in TO_MAKE, the caller's otherwise */
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
    job->status = reserve(job) ? SL_OK : SL_ERR_NO_MEMORY;
    if (job->status == SL_OK) job->status = sl_plan_make(&job->input, job->lessons, &job->plan);
    if (job->status == SL_OK)
        job->status = sl_steps_new(&job->plan, &job->input, job->serve, job->input.chunk_count, &job->steps);
    if (job->status == SL_OK) sl_plan_content(&job->input, &job->plan, job->serve, job->at_end);
    job->cpu_ns = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void *work(void *argument)
{
    struct sl_planner *planner = argument;
    for (;;) {
        uint32_t state = atomic_load(&planner->state);
        if (state == STOPPING) return NULL;
        if (state != TO_MAKE) {
            syscall(SYS_futex, &planner->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
            continue;
        }
        sl_plan_job_make(&planner->job);
        atomic_compare_exchange_strong(&planner->state, &state, MADE);
    }
}

static void tell(struct sl_planner *planner, enum state state)
{
    atomic_store(&planner->state, state);
    syscall(SYS_futex, &planner->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

enum sl_status sl_planner_start(struct sl_planner **out)
{
    struct sl_planner *planner = calloc(1, sizeof *planner);
    if (!planner) return SL_ERR_NO_MEMORY;
    if (sl_thread_start(&planner->thread, "sluice-plan", work, planner)) {
        free(planner);
        return SL_ERR_IO;
    }
    *out = planner;
    return SL_OK;
}

void sl_planner_stop(struct sl_planner *planner)
{
    if (!planner) return;
    tell(planner, STOPPING);
    pthread_join(planner->thread, NULL);
    sl_plan_job_free(&planner->job);
    free(planner);
}

void sl_planner_begin(struct sl_planner *planner, const struct sl_plan_job *job)
{
    planner->job = *job;
    tell(planner, TO_MAKE);
}

bool sl_planner_is_busy(const struct sl_planner *planner)
{
    return atomic_load_explicit(&planner->state, memory_order_acquire) == TO_MAKE;
}

struct sl_plan_job *sl_planner_job(struct sl_planner *planner)
{
    return &planner->job;
}
