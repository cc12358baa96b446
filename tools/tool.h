/* What the subcommands of `sluice` share. */
#ifndef SLUICE_TOOL_H
#define SLUICE_TOOL_H

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Subcommands: argv[0] is the subcommand's name. They return the exit status. */
int command_run(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_stats(int argc, char **argv);
int command_profile(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_options(int argc, char **argv);

/* One line "sluice: ..." on stderr. They return EXIT_USAGE and EXIT_FAILED. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "unknown <what> <word>; did you mean <nearest>?", or "see <command> --help" if none of the words is near.
 * `words` gives NULL after the last; what it returns need not outlive its next call. */
int unknown_word(const char *what, const char *word, const char *(*words)(size_t index), const char *command);

/* Whether argv[1] asks for help. */
bool wants_help(int argc, char **argv);

/* Everything printed has reached stdout; if not, says so and returns EXIT_FAILED instead of `status`. */
int flush_output(int status);

#endif
