#include "tools/text/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/text/terminal.h"

#define GAP "  "
enum {
    GAP_COLUMNS = 2,
    ELASTIC_MIN = 16,      /* of a table in one part */
    ELASTIC_MIN_PARTS = 24 /* of one in several parts, which has more room */
};

static bool make_room(struct table *table, size_t more)
{
    if (table->bytes + more <= table->room) return true;
    size_t room = 2 * table->room + more + 1024;
    char *grown = realloc(table->cells, room);
    if (!grown) return false;
    table->cells = grown;
    table->room = room;
    return true;
}

void table_cell(struct table *table, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0 || !make_room(table, (size_t)length + 1)) {
        table->no_memory = true;
    } else {
        vsnprintf(table->cells + table->bytes, (size_t)length + 1, format, arguments);
        table->bytes += (size_t)length + 1;
        table->cell_count++;
    }
    va_end(arguments);
}

void table_bytes(struct table *table, uint64_t bytes)
{
    char text[SL_BYTES_TEXT];
    table_cell(table, "%s", sl_bytes_text(bytes, text));
}

void table_time(struct table *table, uint64_t ns)
{
    char text[TIME_TEXT];
    table_cell(table, "%s", time_text(ns, text));
}

void table_share(struct table *table, uint64_t part, uint64_t whole)
{
    if (whole)
        table_cell(table, "%.1f %%", 100.0 * (double)part / (double)whole);
    else
        table_cell(table, "-");
}

static void measure(const struct table *table, size_t widths[TABLE_COLUMNS_MAX])
{
    for (size_t c = 0; c < table->column_count; c++) widths[c] = text_columns(table->columns[c].title);
    const char *at = table->cells;
    for (size_t i = 0; i < table->cell_count; i++, at += strlen(at) + 1) {
        size_t columns = text_columns(at), c = i % table->column_count;
        if (columns > widths[c]) widths[c] = columns;
    }
}

/* Columns of a terminal for the table's columns [begin, end) and, in front of them, the first one. An elastic
 * column counts as at most `elastic`. */
static size_t width_of(const struct table *table, const size_t *widths, size_t begin, size_t end,
                       size_t elastic)
{
    size_t all = 0;
    for (size_t c = 0; c < end; c++) {
        size_t width = widths[c];
        if (c && c < begin) continue;
        if (table->columns[c].elastic && width > elastic) width = elastic;
        all += width + (c ? GAP_COLUMNS : 0);
    }
    return all;
}

/* Where a part of the table that begins with column `begin` ends, so that it fits. At least one column. */
static size_t end_of_part(const struct table *table, const size_t *widths, size_t begin, size_t width)
{
    if (!begin && width_of(table, widths, 0, table->column_count, ELASTIC_MIN) <= width)
        return table->column_count;
    size_t end = begin ? begin + 1 : 2;
    while (end < table->column_count && width_of(table, widths, begin, end + 1, ELASTIC_MIN_PARTS) <= width)
        end++;
    return end < table->column_count ? end : table->column_count;
}

static void print_cell(const struct table *table, size_t column, const char *text, size_t width, bool last,
                       FILE *to)
{
    size_t columns = text_columns(text), pad = columns < width ? width - columns : 0;
    const char *mark = columns > width ? has_unicode() ? "…" : "~" : "";
    size_t shown = columns > width ? text_prefix(text, width - 1) : strlen(text);
    bool left = table->columns[column].text;
    fprintf(to, "%s%*s%.*s%s%*s", column ? GAP : "", left ? 0 : (int)pad, "", (int)shown, text, mark,
            left && !last ? (int)pad : 0, "");
}

/* Prints the columns [begin, end) and, in front of them, the first one. */
static void print_part(const struct table *table, const size_t *widths, size_t begin, size_t end, FILE *to)
{
    fputs(style_text(to, STYLE_BOLD), to);
    for (size_t c = 0; c < end; c++)
        if (!c || c >= begin) print_cell(table, c, table->columns[c].title, widths[c], c + 1 == end, to);
    fprintf(to, "%s\n", style_text(to, STYLE_NONE));
    const char *at = table->cells;
    for (size_t i = 0; i < table->cell_count; i++, at += strlen(at) + 1) {
        size_t c = i % table->column_count;
        if (c < end && (!c || c >= begin)) print_cell(table, c, at, widths[c], c + 1 == end, to);
        if (c + 1 == table->column_count) fputc('\n', to);
    }
}

bool table_print(const struct table *table, FILE *to)
{
    if (table->no_memory) return false;
    size_t natural[TABLE_COLUMNS_MAX], widths[TABLE_COLUMNS_MAX];
    measure(table, natural);
    if (!is_terminal(to)) {
        print_part(table, natural, 0, table->column_count, to);
        return true;
    }
    size_t width = terminal_width(to);
    for (size_t begin = 0, end; begin < table->column_count; begin = end) {
        end = end_of_part(table, natural, begin, width);
        memcpy(widths, natural, sizeof(widths));
        size_t all = width_of(table, natural, begin, end, SIZE_MAX);
        for (size_t c = 0; c < end && all > width; c++) {
            size_t least = begin || end < table->column_count ? ELASTIC_MIN_PARTS : ELASTIC_MIN;
            if (!table->columns[c].elastic || widths[c] <= least || (c && c < begin)) continue;
            size_t spare = widths[c] - least;
            widths[c] -= all - width < spare ? all - width : spare;
            break;
        }
        if (begin) fputc('\n', to);
        print_part(table, widths, begin, end, to);
    }
    return true;
}

void print_fitted(const char *text, size_t before, FILE *to)
{
    size_t columns = text_columns(text), width = is_terminal(to) ? terminal_width(to) : SIZE_MAX;
    if (columns <= width - before || width <= before + 1)
        fputs(text, to);
    else
        fprintf(to, "%.*s%s", (int)text_prefix(text, width - before - 1), text, has_unicode() ? "…" : "~");
}

void table_free(struct table *table)
{
    free(table->cells);
    *table = (struct table){0};
}

const char *time_text(uint64_t ns, char out[TIME_TEXT])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        double value = (double)ns / units[i].unit;
        if (value < 1) continue;
        /* Three significant digits. */
        snprintf(out, TIME_TEXT, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[i].name);
        return out;
    }
    snprintf(out, TIME_TEXT, "%" PRIu64 " ns", ns);
    return out;
}
