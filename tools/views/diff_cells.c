#include "tools/views/diff_cells.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "tools/text/help.h"

const char *diff_figure_text(enum figure_unit unit, uint64_t value, char out[DIFF_FIGURE_TEXT])
{
    if (unit == FIGURE_IN_NUMBERS)
        snprintf(out, DIFF_FIGURE_TEXT, "%" PRIu64, value);
    else
        (unit == FIGURE_IN_NS ? time_text : sl_bytes_text)(value, out);
    return out;
}

void diff_add_figure(struct table *table, enum figure_unit unit, uint64_t value)
{
    char text[DIFF_FIGURE_TEXT];
    table_cell(table, "%s", value ? diff_figure_text(unit, value, text) : "-");
}

bool diff_finish(struct table *table)
{
    bool good = table->cell_count == 0 || (putchar('\n') != EOF && table_print(table, stdout));
    table_free(table);
    return good;
}

/* "3 more differ by less than 2 %, and 5 by less than iterations of one trace do." */
void diff_print_rest(const struct diff_view *view, const char *what, struct diff_counts counts, size_t hidden)
{
    char line[256] = "";
    size_t at = 0;
    if (hidden) at += (size_t)snprintf(line, sizeof(line), "%zu more are not shown (--limit)", hidden);
    if (counts.small)
        at += (size_t)snprintf(line + at, sizeof(line) - at,
                               "%s%zu%s too little to matter (--threshold %" PRIu64 ")", at ? "; " : "",
                               counts.small, at ? " differ" : " more differ", view->diff->threshold);
    if (counts.noise)
        snprintf(line + at, sizeof(line) - at, "%s%zu%s no more than iterations of one trace do",
                 at ? "; " : "", counts.noise, at ? " differ" : " more differ");
    if (!*line) return;
    char whole[320];
    snprintf(whole, sizeof(whole), "%s: %s.\n", what, line);
    print_wrapped(stdout, whole, help_width(stdout));
}
