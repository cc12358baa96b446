/* What is said of a command that `sluice run` cannot start, or that got words that were meant for `sluice
 * run`. */
#ifndef SLUICE_TOOL_REFUSED_H
#define SLUICE_TOOL_REFUSED_H

#include <stdbool.h>

enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/* A command as the user wrote it. */
struct wanted_command {
    char *const *words;        /* with a NULL behind the last; NULL: no command was given */
    bool separated;            /* "--" stands before it */
    const char *option, *file; /* the last option that took the next word as its path, and that; NULL: none */
};

/* Writes the words as a shell takes them, as many as there is room for. Returns `out`. */
#define COMMAND_TEXT 256
const char *command_text(char *const *words, char out[COMMAND_TEXT]);

/* Says in one line why execvp failed with `error`, and what to write instead. Returns the exit status. */
int refuse_command(const struct wanted_command *wanted, int error);

/* The option that took the command's first word for its path: says so and returns true. */
bool say_taken_command(const struct wanted_command *wanted);

/* The command that runs files of this name, "python" for train.py; NULL: another one, or none. */
const char *interpreter_for(const char *file);

/* Whether the kernel will start a program for the word, as far as files tell. */
bool command_starts(const char *word);

/* A script without a #! line is run by sh, whatever its language. Says so, if its name shows another one. */
bool refuse_unmarked_script(const struct wanted_command *wanted);

/* Says of the first option of `sluice run` among the command's words that the command gets it, unless the
 * user has written "--" before the command, or programs often have an option of that name. */
void say_options_behind(const struct wanted_command *wanted);

#endif
