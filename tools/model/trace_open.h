/* A trace file as commands open it, and what they say when it ends. */
#ifndef SLUICE_TOOL_TRACE_OPEN_H
#define SLUICE_TOOL_TRACE_OPEN_H

#include "trace/trace_read.h"

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
