/* `sluice rehearse`: whether a program would run on a card, and how fast, without one. */
#ifndef SLUICE_TOOL_REHEARSE_COMMAND_H
#define SLUICE_TOOL_REHEARSE_COMMAND_H

/* argv[0] is the subcommand's name. Returns the exit status. */
int command_rehearse(int argc, char **argv);

#endif
