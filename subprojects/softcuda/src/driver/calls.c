#include "calls.h"

#include <signal.h>

#include "peers.h"

/* All members are guarded by the driver's lock. */
static struct {
    struct sc_op *first, *last; /* not taken by a thread yet */
    unsigned waiting, idle;     /* operations in that list; threads without one */
    pthread_cond_t news;
} calls = {.news = PTHREAD_COND_INITIALIZER};

static struct sc_op *take(void)
{
    calls.idle++;
    while (!calls.first) pthread_cond_wait(&calls.news, &sc_driver_lock);
    calls.idle--;
    struct sc_op *op = calls.first;
    calls.first = op->next_call;
    calls.waiting--;
    return op;
}

static void *serve(void *unused)
{
    (void)unused;
    sc_lock();
    for (;;) {
        struct sc_op *op = take();
        if (op->meets_peers) {
            sc_peers_run(op);
            continue;
        }
        sc_unlock();
        sc_op_execute(op);
        sc_lock();
        sc_queue_called(op);
    }
    return NULL;
}

/* The new thread blocks all signals: the program's signals are for its own threads, but for those of what a
 * host function does itself. */
bool sc_calls_start_thread(void *(*body)(void *unused))
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&thread, NULL, body, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

bool sc_calls_begin(struct sc_op *op)
{
    if (calls.waiting >= calls.idle && !sc_calls_start_thread(serve)) return false;
    op->next_call = NULL;
    *(calls.first ? &calls.last->next_call : &calls.first) = op;
    calls.last = op;
    calls.waiting++;
    pthread_cond_signal(&calls.news);
    return true;
}
