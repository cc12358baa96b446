#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

#define STACK_BYTES ((size_t)1 << 20)

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
