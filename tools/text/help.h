/* Help texts, wrapped at the width of the terminal. */
#ifndef SLUICE_TEXT_HELP_H
#define SLUICE_TEXT_HELP_H

#include <stddef.h>
#include <stdio.h>

/* Columns for a help text on `to`: the terminal's width, at most 100. A file gets 80 in every environment, so
 * that texts in documents and tests do not depend on it. */
size_t help_width(FILE *to);

/* Prints whole lines and breaks each line that is wider than `width` columns at a space, but not between
 * brackets. The rest of the line is indented like its start; in a list ("  term  meaning") like the meaning.
 */
void print_wrapped(FILE *to, const char *text, size_t width);

/* The stream for a help text, which help_end prints on stdout. Not thread-safe. */
FILE *help_begin(void);
void help_end(FILE *help);

#endif
