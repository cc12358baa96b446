/* Threads of ours. */
#ifndef SLUICE_THREAD_H
#define SLUICE_THREAD_H

#include <pthread.h>

/* Starts one that blocks every signal, so that the program's are handled by threads that it knows, and has a
 * stack that the driver can work on, whatever the program made the default. 0, or an errno. */
int sl_thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *argument);

#endif
