/* Messages on stderr, one line each, and their exit statuses. */
#ifndef SLUICE_TOOL_MESSAGES_H
#define SLUICE_TOOL_MESSAGES_H

#include <stddef.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Print one line "sluice: ..." on stderr and return EXIT_USAGE and EXIT_FAILED. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A word that users try, and what they mean. */
struct meant_word {
    const char *word, *instead;
};
/* What `word` means; NULL: nothing known. The list ends with a NULL for a word. */
const char *find_meant(const struct meant_word *list, const char *word);

/* "unknown <what> <word>; did you mean <nearest>?", or "see <command> --help" if no word is near. `words`
 * returns NULL after the last one; its result is used only until the next call. Returns EXIT_USAGE. */
int unknown_word(const char *what, const char *word, const char *(*words)(size_t index), const char *command);

/* Flushes stdout. Returns `status` or, after an error message, EXIT_FAILED. */
int flush_output(int status);

#endif
