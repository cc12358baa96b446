/* `sluice trace diff`: what changed between two runs of a program, as text, as JSON or as one HTML file. */
#ifndef SLUICE_TOOL_TRACE_DIFF_H
#define SLUICE_TOOL_TRACE_DIFF_H

/* argv[0] is the name of the command. Returns the exit status. */
int trace_diff(int argc, char **argv);

#endif
