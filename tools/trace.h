/* `sluice trace`: the subcommands and what they share. */
#ifndef SLUICE_TOOL_TRACE_H
#define SLUICE_TOOL_TRACE_H

#include "trace_text.h"

/* They return the exit status. */
int trace_info(const char *path);
int trace_dump(const char *path, bool json);

/* Opens a trace, or says why not on stderr and returns EXIT_FAILED. */
int open_trace(const char *path, struct sl_trace_reader **out);

/* The exit status for a trace that was read as far as it goes; says on stderr what is wrong with it. One that
 * ends early is no failure, a damaged one is. */
int end_status(const char *path, const struct sl_trace_problem *problem);

/* The program's name, fit to be shown. */
struct program_name {
    char text[sizeof(((struct sluice_trace_header *)0)->program)];
};
struct program_name program_name(const struct sluice_trace_header *header);

#endif
