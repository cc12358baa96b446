/* Properties of the terminal: colours, width, Unicode. */
#ifndef SLUICE_TERMINAL_H
#define SLUICE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum terminal_style {
    STYLE_NONE, /* resets the style */
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_RED,
    STYLE_GREEN,
    STYLE_YELLOW,
    STYLE_BLUE,
    STYLE_MAGENTA,
    STYLE_CYAN,
};

bool is_terminal(FILE *stream);

/* Whether `stream` is a terminal with colours that the user wants: TERM is neither empty nor "dumb", and
 * NO_COLOR is empty or unset (no-color.org). */
bool has_colours(FILE *stream);

/* The escape sequence for `style`, empty without colours. */
const char *style_text(FILE *stream, enum terminal_style style);

/* Columns of `stream`: COLUMNS if it is set, else the terminal's, else 80. */
unsigned terminal_width(FILE *stream);

/* Whether the locale's text is UTF-8. */
bool has_unicode(void);

/* Columns of `text`: its UTF-8 characters. Precondition: sl_defuse(text). Wide and combining characters
 * count as one. */
size_t text_columns(const char *text);

/* Bytes of the first `columns` characters of `text`. */
size_t text_prefix(const char *text, size_t columns);

#endif
