/* `sluice trace report`: a training run as one HTML file. */
#ifndef SLUICE_TOOL_TRACE_REPORT_H
#define SLUICE_TOOL_TRACE_REPORT_H

/* argv[0] is the name of the command. Returns the exit status. */
int trace_report(int argc, char **argv);

#endif
