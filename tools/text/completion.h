/* Completion of command lines, for shells (data/completions). `sluice complete WORD...` gets the words after
 * "sluice", the last of which is incomplete, and prints one line for each word that may take its place: the
 * word, a tab, what it means. A line that begins with a colon stands for words that the shell knows: :files
 * a path may stand here :command N  WORD N, counted from 1, begins another command line, which the shell
 * completes itself While a completion is wanted, commands print candidates instead of reading their
 * arguments. Not thread-safe. */
#ifndef SLUICE_TEXT_COMPLETION_H
#define SLUICE_TEXT_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

/* `words`: those after the name of the command that is called next; the last is incomplete. `before`: words
 * of the whole command line before them. Precondition: count > 0; the words stay. */
void completion_begin(char *const *words, size_t count, size_t before);
bool completion_is_wanted(void);

/* Prints the word if it begins with the incomplete one. `help`: a text of any length, of which the first
 * sentence is printed. */
void completion_word(const char *word, const char *help);

struct completion_option {
    const char *name; /* without its dashes */
    const char *help;
    bool takes_value, takes_file; /* takes_file: the value is a path */
    const char *values;           /* the only values that it takes, separated by |; NULL: others, too */
};

enum completion_operands {
    OPERANDS_NONE,
    OPERANDS_FILES,
    OPERANDS_COMMAND, /* the first operand begins another command line */
};

/* Prints what may stand at the end of the command's words: an option, the value of an option, or an operand.
 */
void completion_print(const struct completion_option *options, size_t count,
                      enum completion_operands operands);

#endif
