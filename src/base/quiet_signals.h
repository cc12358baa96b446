/* Calls that write raise no signal: a reader that is gone (SIGPIPE) and the limit of a file's size (SIGXFSZ)
 * are errors to us, and would be the end of a program that never asked for our bytes. */
#ifndef SLUICE_QUIET_SIGNALS_H
#define SLUICE_QUIET_SIGNALS_H

#include <signal.h>

struct sl_quiet_signals {
    sigset_t before, pending;
};

/* Any thread; each holds for the calling one. sl_quiet_signals_end keeps errno. `error`: the errno of what
 * failed in between, whose signal is taken back; else 0. */
void sl_quiet_signals_begin(struct sl_quiet_signals *quiet);
void sl_quiet_signals_end(const struct sl_quiet_signals *quiet, int error);

#endif
