/* What kind of file a command is. */
#ifndef SLUICE_EXECUTABLE_H
#define SLUICE_EXECUTABLE_H

/* Why nothing can be preloaded into `command`, which is searched for in PATH as execvp does: words that go on
 * after its name, or NULL when nothing speaks against it (scripts and what cannot be read included). */
const char *preload_obstacle(const char *command);

#endif
