#include "base/quiet_signals.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

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
