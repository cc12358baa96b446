/* Threads of sluice. */
#ifndef SLUICE_THREAD_H
#define SLUICE_THREAD_H

#include <pthread.h>

/* Starts a thread that blocks every signal, so that only the program's own threads handle them. Its stack is
 * large enough for the driver, whatever default the program set. Returns 0 or an errno. */
int sl_thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *argument);

#endif
