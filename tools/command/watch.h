/* Who reports a run that could not do it itself: `sluice run` becomes its command, and leaves behind a
 * process that waits for the command's end. What the processes of the command kept in their files of figures
 * (live.h) and did not report themselves, since a signal ended them, it reports for them: statistics and
 * summary.
 *
 * The command sees nothing of it. It is no child of the command and in no group or session of it, has none of
 * its files but stderr where a summary is asked for, takes no signals, and ends with the command.
 */
#ifndef SLUICE_TOOL_WATCH_H
#define SLUICE_TOOL_WATCH_H

#include <stdbool.h>

struct watch {
    int go;          /* closed by a successful exec; -1: nobody watches */
    char folder[32]; /* for the files of figures; "": the user named one */
};

/* Starts watching this process, if anything of it is to be reported, and sets SLUICE_LIVE. Where that cannot
 * be, the command runs as without it: as the first process of a container, say, which inherits all others. */
void watch_start(struct watch *watch, bool software);

/* This process did not become the command. */
void watch_cancel(struct watch *watch);

#endif
