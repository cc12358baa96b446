#include "pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>
#include <signal.h>

/* A call of sc_pool_run; lives on its caller's stack while it is in the queue */
struct job {
    void (*work)(void *context, uint32_t index);
    void *context;
    uint32_t count, taken, done;
    struct job *next;
    pthread_cond_t finished;
};

static struct {
    pthread_mutex_t lock; /* guards everything */
    pthread_cond_t wake;
    struct job *jobs;
    uint32_t threads;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* Does one piece of a job. The lock is held before and after, not between. */
static void do_piece(struct job *job)
{
    uint32_t index = job->taken++;
    pthread_mutex_unlock(&pool.lock);
    job->work(job->context, index);
    pthread_mutex_lock(&pool.lock);
    if (++job->done == job->count) pthread_cond_signal(&job->finished);
}

static struct job *open_job(void)
{
    struct job *job = pool.jobs;
    while (job && job->taken == job->count) job = job->next;
    return job;
}

static void *helper(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct job *job = open_job();
        if (job)
            do_piece(job);
        else
            pthread_cond_wait(&pool.wake, &pool.lock);
    }
    return NULL;
}

/* Helpers never handle the program's signals. */
static bool start_helper(void)
{
    sigset_t all, old;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_create(&thread, NULL, helper, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ok) pthread_detach(thread);
    return ok;
}

/* In the child of a fork the helpers are gone, and the lock may have been held by one of them. */
static void forget_threads(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pool.jobs = NULL;
    pool.threads = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_threads);
}

void sc_pool_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct job job = {.work = work, .context = context, .count = count};
    if (count <= 1) {
        if (count) work(context, 0);
        return;
    }
    pthread_once(&once, watch_forks);
    pthread_cond_init(&job.finished, NULL);
    pthread_mutex_lock(&pool.lock);
    while (pool.threads + 1 < count && pool.threads < SC_POOL_MAX && start_helper()) pool.threads++;
    struct job **end = &pool.jobs;
    while (*end) end = &(*end)->next;
    *end = &job;
    pthread_cond_broadcast(&pool.wake);
    while (job.taken < job.count) do_piece(&job);
    while (job.done < job.count) pthread_cond_wait(&job.finished, &pool.lock);
    for (end = &pool.jobs; *end != &job;) end = &(*end)->next;
    *end = job.next;
    pthread_mutex_unlock(&pool.lock);
    pthread_cond_destroy(&job.finished);
}
