/* The signals of the program, which are its own: our threads handle none, and our write calls raise none. */
#ifndef SLUICE_SIGNALS_H
#define SLUICE_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/* For write calls: a closed pipe (SIGPIPE) and the file size limit (SIGXFSZ) are errors to us, and would end
 * a program that did not make these writes. */
struct sl_quiet_signals {
    sigset_t before, pending;
};

/* Any thread; they affect the calling thread. sl_quiet_signals_end keeps errno. `error`: the errno of the
 * call that failed in between, whose signal is removed; else 0. */
void sl_quiet_signals_begin(struct sl_quiet_signals *quiet);
void sl_quiet_signals_end(const struct sl_quiet_signals *quiet, int error);

/* Starts a thread that blocks every signal, so that only the program's own threads handle them. Its stack is
 * large enough for the driver, whatever default the program set. Returns 0 or an errno. */
int sl_thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *argument);

#endif
