/* `sluice trace`: its commands and what they share. Each is a file trace_NAME.c and a row in trace.c. */
#ifndef SLUICE_TOOL_TRACE_H
#define SLUICE_TOOL_TRACE_H

#include "trace_text.h"

/* argv[0] is the command's name. They return the exit status. */
int trace_info(int argc, char **argv);
int trace_phases(int argc, char **argv);
int trace_timeline(int argc, char **argv);
int trace_kernels(int argc, char **argv);
int trace_chunks(int argc, char **argv);
int trace_check(int argc, char **argv);
int trace_export(int argc, char **argv);
int trace_sites(int argc, char **argv);
int trace_dump(int argc, char **argv);

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
