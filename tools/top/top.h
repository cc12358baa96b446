/* `sluice top` and its forms of output. */
#ifndef SLUICE_TOOL_TOP_H
#define SLUICE_TOOL_TOP_H

#include <stdio.h>

#include "tools/text/terminal.h"
#include "tools/top/runs.h"

int command_top(int argc, char **argv);

/* Lines of a screen. Zero it; a line that finds no memory is left out. */
struct top_line {
    enum terminal_style style, right_style;
    char text[320], right[320]; /* `right`, if it is not "", begins at column `right_at` */
    unsigned right_at;
};
struct top_lines {
    struct top_line *all;
    uint32_t count, room;
    unsigned width;
    bool unicode;
};
/* Replaces the lines: all figures of each program, in two columns if there is room; in front of them, if
 * there are several, a line for each; and those that have ended. `width`: at least 40 columns. */
void top_write_lines(struct top_lines *lines, const struct runs *runs, unsigned width, bool unicode);
void top_lines_free(struct top_lines *lines);
/* Replaces them by the help of the screen. */
void top_write_keys(struct top_lines *lines, unsigned width);

void top_write_json(FILE *to, const struct runs *runs);

/* Prometheus's text format, version 0.0.4. */
void top_write_prometheus(FILE *to, const struct runs *runs);

/* Shows the lines on the terminal until the user quits, every `interval_ms`. `look` reads the runs anew;
 * false ends. Returns false where the terminal cannot do it, or sluice was built without curses. */
bool top_screen(struct runs *runs, unsigned interval_ms, bool (*look)(void *context), void *context);

#endif
