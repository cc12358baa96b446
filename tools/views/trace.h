/* The commands of `sluice trace`. Each is a file trace_NAME.c and a row in tools/command/trace.c. */
#ifndef SLUICE_TOOL_TRACE_H
#define SLUICE_TOOL_TRACE_H

/* argv[0] is the name of the command. They return the exit status. */
int trace_info(int argc, char **argv);
int trace_phases(int argc, char **argv);
int trace_timeline(int argc, char **argv);
int trace_kernels(int argc, char **argv);
int trace_chunks(int argc, char **argv);
int trace_check(int argc, char **argv);
int trace_export(int argc, char **argv);
int trace_sites(int argc, char **argv);
int trace_ranks(int argc, char **argv);
int trace_dump(int argc, char **argv);

#endif
