/* The subcommands of `sluice` other than `plan`. argv[0] is the subcommand's name. They return
 * the exit status. */
#ifndef SLUICE_TOOL_COMMANDS_H
#define SLUICE_TOOL_COMMANDS_H

#include <stddef.h>

int command_run(int argc, char **argv);
int command_trace(int argc, char **argv);

/* The name of command `index` of trace, and what it does, for lists. NULL: there are no more. */
const char *trace_command_name(size_t index, const char **help);

int command_kernel(int argc, char **argv);
const char *kernel_command_name(size_t index, const char **help); /* as trace_command_name */

int command_completion(int argc, char **argv);
const char *completion_command_name(size_t index, const char **help); /* as trace_command_name */

int command_demo(int argc, char **argv);
int command_stats(int argc, char **argv);
int command_profile(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_path(int argc, char **argv);
int command_options(int argc, char **argv);

#endif
