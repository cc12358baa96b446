/* What a command says of itself beside its output: one line on stderr, and the exit status that goes with it.
 */
#ifndef SLUICE_TOOL_MESSAGES_H
#define SLUICE_TOOL_MESSAGES_H

#include <stddef.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One line "sluice: ..." on stderr. They return EXIT_USAGE and EXIT_FAILED. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "unknown <what> <word>; did you mean <nearest>?", or "see <command> --help" if none of the words is near.
 * `words` gives NULL after the last; what it returns need not outlive its next call. Returns EXIT_USAGE. */
int unknown_word(const char *what, const char *word, const char *(*words)(size_t index), const char *command);

/* Everything printed has reached stdout; if not, says so and returns EXIT_FAILED instead of `status`. */
int flush_output(int status);

#endif
