/* `sluice plan`: predicts a traced program's behaviour with less device memory. */
#ifndef SLUICE_TOOL_PLAN_COMMAND_H
#define SLUICE_TOOL_PLAN_COMMAND_H

/* argv[0] is the subcommand's name. Returns the exit status. */
int command_plan(int argc, char **argv);

#endif
