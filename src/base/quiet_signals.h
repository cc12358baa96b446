/* Suppresses the signals of write calls: a closed pipe (SIGPIPE) and the file size limit (SIGXFSZ) are errors
 * to us, and would end a program that did not make these writes. */
#ifndef SLUICE_QUIET_SIGNALS_H
#define SLUICE_QUIET_SIGNALS_H

#include <signal.h>

struct sl_quiet_signals {
    sigset_t before, pending;
};

/* Any thread; they affect the calling thread. sl_quiet_signals_end keeps errno. `error`: the errno of the
 * call that failed in between, whose signal is removed; else 0. */
void sl_quiet_signals_begin(struct sl_quiet_signals *quiet);
void sl_quiet_signals_end(const struct sl_quiet_signals *quiet, int error);

#endif
