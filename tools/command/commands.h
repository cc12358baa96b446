/* The subcommands of `sluice` other than `plan`. argv[0] is the subcommand's name. They return
 * the exit status. */
#ifndef SLUICE_TOOL_COMMANDS_H
#define SLUICE_TOOL_COMMANDS_H

int command_run(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_stats(int argc, char **argv);
int command_profile(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_options(int argc, char **argv);

#endif
