/* `sluice advise`: what would make a traced program faster, or fit in less memory. */
#ifndef SLUICE_TOOL_ADVISE_COMMAND_H
#define SLUICE_TOOL_ADVISE_COMMAND_H

#include <stddef.h>
#include <stdio.h>

/* argv[0] is the subcommand's name. Returns the exit status. */
int command_advise(int argc, char **argv);

/* Prints the first `most` items for the trace at `path`, as text. Returns the exit status. */
int advise_briefly(const char *path, size_t most, FILE *to);

#endif
