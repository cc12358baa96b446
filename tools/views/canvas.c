#include "tools/views/canvas.h"

#include <stdio.h>

#include "tools/text/table.h"

enum {
    LABEL = 16,  /* columns before the drawing */
    FIGURE = 15, /* columns after it: "12.62 MiB peak" */
    WHAT = 4,    /* of them for the last word */
    FRAME = 2,
    NARROW = 48, /* drawings narrower than this have no figures */
    LEVELS = 8,
};

struct canvas canvas_of_width(unsigned width)
{
    struct canvas canvas = {.figures = width >= NARROW, .unicode = has_unicode()};
    canvas.columns = width - LABEL - FRAME - (canvas.figures ? FIGURE : 0);
    return canvas;
}

/* A level from 0 to LEVELS; at least 1 unless the value is 0. */
static unsigned level_of(uint64_t value, uint64_t full)
{
    if (!value || !full) return 0;
    double share = (double)value / (double)full * LEVELS;
    return share >= LEVELS ? LEVELS : share < 1 ? 1 : (unsigned)(share + 0.5);
}

static void draw_level(const struct canvas *canvas, unsigned level)
{
    static const char *const blocks[LEVELS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char plain[LEVELS + 1] = {' ', '.', ':', '-', '=', '+', '*', '%', '#'};
    if (canvas->unicode)
        fputs(blocks[level], stdout);
    else
        putchar(plain[level]);
}

static const char *bar(const struct canvas *canvas)
{
    return canvas->unicode ? "│" : "|";
}

static void begin_row(const struct canvas *canvas, const char *label)
{
    printf("%-*.*s%s", LABEL, LABEL, label, bar(canvas));
}

static void end_row(const struct canvas *canvas, const char *figure, const char *what)
{
    fputs(bar(canvas), stdout);
    if (canvas->figures) printf("%*s %-*s", FIGURE - WHAT - 1, figure, WHAT, what);
    putchar('\n');
}

void canvas_row(const struct canvas *canvas, const char *label, enum terminal_style style,
                const uint64_t *row, uint64_t full, const char *figure, const char *what)
{
    begin_row(canvas, label);
    fputs(style_text(stdout, style), stdout);
    for (uint32_t s = 0; s < canvas->columns; s++) draw_level(canvas, level_of(row[s], full));
    if (style) fputs(style_text(stdout, STYLE_NONE), stdout);
    end_row(canvas, figure, what);
}

void canvas_phases(const struct canvas *canvas, const char *label, const uint8_t *phase)
{
    begin_row(canvas, label);
    for (uint32_t s = 0, end; s < canvas->columns; s = end) {
        for (end = s; end < canvas->columns && phase[end] == phase[s];) end++;
        unsigned room = end - s;
        const char *name = phase_name(phase[s]);
        if (s) {
            fputs(bar(canvas), stdout);
            room--;
        }
        printf("%-*.*s", (int)room, (int)room, name);
    }
    end_row(canvas, "", "");
}

void canvas_axis(const struct canvas *canvas, uint64_t ns, const char *clock)
{
    char text[TIME_TEXT];
    time_text(ns, text);
    printf("%-*.*s 0%*s\n", LABEL, LABEL, clock, (int)canvas->columns - 1, text);
}

uint64_t row_most(const uint64_t *row, uint32_t count)
{
    uint64_t most = 0;
    for (uint32_t s = 0; s < count; s++)
        if (row[s] > most) most = row[s];
    return most;
}

uint64_t row_sum(const uint64_t *row, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < count; s++) sum += row[s];
    return sum;
}
