/* `sluice run --advise`: the command is recorded, and after its end the watcher (watch.h) prints advice. */
#ifndef SLUICE_TOOL_RUN_ADVICE_H
#define SLUICE_TOOL_RUN_ADVICE_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

struct run_advice {
    bool wanted;
    time_t began;          /* older traces are of other runs */
    char folder[PATH_MAX]; /* of temporary traces; "": the user named the trace */
    char trace[PATH_MAX];  /* the user's, of the command's own process */
};

/* Has the command recorded, in a temporary folder unless the user asked for a trace. Nothing is wanted if
 * standard error is closed. If it cannot be recorded, prints why on stderr, and nothing is wanted. */
void run_advice_begin(struct run_advice *advice);

/* The command is not run, or not watched: removes the folder and what was set for the recording. */
void run_advice_cancel(struct run_advice *advice);

/* Prints the advice on stderr and removes the temporary traces. */
void run_advice_give(struct run_advice *advice);

#endif
