/* Opens a trace file for commands, and reports problems at its end. */
#ifndef SLUICE_TOOL_TRACE_OPEN_H
#define SLUICE_TOOL_TRACE_OPEN_H

#include "tools/trace/trace_read.h"

/* Opens a trace; on failure prints the reason on stderr and returns EXIT_FAILED. */
int open_trace(const char *path, struct sl_trace_reader **out);

/* The exit status after reading a trace; prints its problem on stderr. A trace that ends early is not a
 * failure, a damaged one is. */
int end_status(const char *path, const struct sl_trace_problem *problem);

/* The program's name, defused. */
struct program_name {
    char text[sizeof(((struct sluice_trace_header *)0)->program)];
};
struct program_name program_name(const struct sluice_trace_header *header);

#endif
