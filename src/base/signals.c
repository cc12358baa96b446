#include "base/signals.h"

#include <errno.h>
#include <stddef.h>

#define STACK_BYTES ((size_t)1 << 20)

void sl_quiet_signals_begin(struct sl_quiet_signals *quiet)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    sigpending(&quiet->pending);
    pthread_sigmask(SIG_BLOCK, &ours, &quiet->before);
}

void sl_quiet_signals_end(const struct sl_quiet_signals *quiet, int error)
{
    struct timespec at_once = {0};
    int kept = errno, raised = error == EPIPE ? SIGPIPE : SIGXFSZ;
    if ((error == EPIPE || error == EFBIG) && !sigismember(&quiet->pending, raised)) {
        sigset_t this_one;
        sigemptyset(&this_one);
        sigaddset(&this_one, raised);
        sigtimedwait(&this_one, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    errno = kept;
}

int sl_thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error) return error;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, &attributes, work, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!error) pthread_setname_np(*thread, name);
    return error;
}
