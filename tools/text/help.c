#include "tools/text/help.h"

#include <stdlib.h>
#include <string.h>

#include "tools/text/terminal.h"

enum { WIDTH_FILE = 80, WIDTH_MAX = 100 };
#define USAGE "Usage: "

size_t help_width(FILE *to)
{
    if (!is_terminal(to)) return WIDTH_FILE;
    size_t width = terminal_width(to);
    return width < WIDTH_MAX ? width : WIDTH_MAX;
}

/* Columns before the second and later lines of `line`. */
static size_t indent_of(const char *line, size_t length)
{
    size_t indent = strspn(line, " ");
    if (length > strlen(USAGE) && !strncmp(line, USAGE, strlen(USAGE))) return strlen(USAGE);
    if (!indent) return 0; /* not a list */
    for (size_t i = indent; i + 2 < length; i++) {
        if (line[i] != ' ' || line[i + 1] != ' ') continue;
        while (i < length && line[i] == ' ') i++;
        return i;
    }
    return indent;
}

/* The length of the word at `text`: up to a space outside of brackets. */
static size_t word_length(const char *text, size_t length)
{
    size_t depth = 0, i = 0;
    for (; i < length && (depth || text[i] != ' '); i++) {
        if (text[i] == '[') depth++;
        if (text[i] == ']' && depth) depth--;
    }
    return i;
}

static size_t columns_of(const char *text, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

static void print_line(FILE *to, const char *line, size_t length, size_t width)
{
    size_t indent = indent_of(line, length), at = 0, column = 0;
    while (at < length) {
        size_t gap = strspn(line + at, " ");
        if (at + gap > length) gap = length - at;
        size_t word = word_length(line + at + gap, length - at - gap);
        size_t columns = columns_of(line + at + gap, word);
        if (at && column > indent && column + gap + columns > width) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
        } else {
            fprintf(to, "%*s", (int)gap, "");
            column += gap;
        }
        fwrite(line + at + gap, 1, word, to);
        column += columns;
        at += gap + word;
    }
    fputc('\n', to);
}

void print_wrapped(FILE *to, const char *text, size_t width)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchrnul(text, '\n');
        print_line(to, text, (size_t)(end - text), width);
    }
}

static char *help_text;
static size_t help_bytes;

FILE *help_begin(void)
{
    FILE *help = open_memstream(&help_text, &help_bytes);
    return help ? help : stdout;
}

void help_end(FILE *help)
{
    if (help == stdout || fclose(help) != 0) return;
    print_wrapped(stdout, help_text, help_width(stdout));
    free(help_text);
}
