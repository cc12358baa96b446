/* Reports a run that could not report itself. `sluice run` becomes its command, and leaves behind a watcher
 * process that waits for the command's end. If a signal ended a process of the command, the watcher writes
 * the statistics and the summary from the process's live file (report.h).
 *
 * The command does not notice the watcher: it is not a child of the command and not in its group or session,
 * has none of its files except stderr for a summary, ignores signals, and ends with the command. */
#ifndef SLUICE_TOOL_WATCH_H
#define SLUICE_TOOL_WATCH_H

#include <stdbool.h>

#include "tools/command/run_advice.h"

struct watch {
    int go;          /* closed by a successful exec; -1: there is no watcher */
    char folder[32]; /* for the live files; "": the user named a file */
};

/* Starts a watcher of this process if a report or advice is requested, and sets SLUICE_LIVE. If it cannot
 * start, the command runs without it, for example as the first process of a container, which adopts orphaned
 * processes. `driver`: there is one for the command.
 */
void watch_start(struct watch *watch, bool driver, const struct run_advice *advice);

/* This process could not become the command. */
void watch_cancel(struct watch *watch);

#endif
