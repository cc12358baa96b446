/* Checks whether a library can be preloaded into a command. */
#ifndef SLUICE_EXECUTABLE_H
#define SLUICE_EXECUTABLE_H

/* Why nothing can be preloaded into `command`, which is searched for in PATH as by execvp: a predicate for a
 * message that begins with the command's name. NULL: no obstacle is known, as for scripts and unreadable
 * files. */
const char *preload_obstacle(const char *command);

#endif
