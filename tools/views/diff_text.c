/* A comparison of two traces as tables. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/model/symbols.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"
#include "tools/text/terminal.h"
#include "tools/views/diff_cells.h"
#include "tools/views/diff_views.h"

enum { VALUE_COLUMNS = 31 }; /* of a setting */

/* The change as a figure with its sign, and in per cent. */
static void add_change(struct table *table, enum figure_unit unit, uint64_t a, uint64_t b)
{
    char text[DIFF_FIGURE_TEXT];
    double per_cent = diff_per_cent(a, b);
    if (a == b)
        table_cell(table, "-");
    else
        table_cell(table, "%c%s", a < b ? '+' : '-', diff_figure_text(unit, a < b ? b - a : a - b, text));
    if (a == b || isinf(per_cent))
        table_cell(table, "-");
    else if (per_cent > 999.9)
        table_cell(table, "x%.4g", (double)b / (double)a);
    else
        table_cell(table, "%+.1f", per_cent);
}

static bool print_sides(const struct diff_view *view)
{
    static const struct table_column columns[] = {{"", .text = true},
                                                  {"trace", .text = true, .elastic = true},
                                                  {"program", .text = true},
                                                  {"compared", .text = true}};
    static const char *const kinds[STEADY_KINDS] = {"steps", "repetitions", "the whole run"};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    bool same = !strcmp(file_name(view->paths[DIFF_A]), file_name(view->paths[DIFF_B]));
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        const struct diff_side *side = &view->diff->sides[s];
        const struct steady *steady = &side->steady;
        table_cell(&table, "%c", 'A' + (int)s);
        table_cell(&table, "%s", same ? view->paths[s] : file_name(view->paths[s]));
        table_cell(&table, "%s", side->program.text);
        if (steady->kind == STEADY_RUN)
            table_cell(&table, "%s", kinds[steady->kind]);
        else
            table_cell(&table, "%" PRIu32 " of %" PRIu32 " %s, from no. %" PRIu32, steady->count,
                       steady->total, kinds[steady->kind], steady->first);
    }
    return diff_finish(&table);
}

/* Cuts a text to the width of a value: from `skip` on, where the two texts differ. */
static void add_text(struct table *table, const char *text, size_t skip)
{
    if (!text) {
        table_cell(table, "unknown");
        return;
    }
    const char *from = text + skip;
    size_t room = VALUE_COLUMNS - (skip ? 4 : 0);
    bool cut = text_columns(from) > room;
    table_cell(table, "%s%.*s%s", skip ? "... " : "", (int)text_prefix(from, cut ? room - 4 : room), from,
               cut ? " ..." : "");
}

/* Where the words begin that differ, with one word before them for orientation; 0 for short texts. */
static size_t first_difference(const char *a, const char *b)
{
    size_t at = 0, word = 0, before = 0;
    if (!a || !b || (text_columns(a) <= VALUE_COLUMNS && text_columns(b) <= VALUE_COLUMNS)) return 0;
    for (; a[at] && a[at] == b[at]; at++) {
        if (a[at] != ' ') continue;
        before = word;
        word = at + 1;
    }
    return word - before < VALUE_COLUMNS / 2 ? before : word;
}

static bool print_settings(const struct diff_view *view)
{
    static const struct table_column columns[] = {
        {"setting", .text = true}, {"A", .text = true}, {"B", .text = true}};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    for (unsigned i = 0; i < DIFF_SETTINGS; i++) {
        const struct diff_setting *setting = &view->diff->settings[i];
        if (!setting->differs) continue;
        table_cell(&table, "%s", setting->name);
        size_t skip = first_difference(setting->text[DIFF_A], setting->text[DIFF_B]);
        for (unsigned s = 0; s < DIFF_SIDES; s++) {
            char text[SL_BYTES_TEXT];
            if (setting->unit == DIFF_TEXT)
                add_text(&table, setting->text[s], skip);
            else if (!setting->number[s])
                table_cell(&table, "unknown");
            else if (setting->unit == DIFF_BYTES)
                table_cell(&table, "%s", sl_bytes_text(setting->number[s], text));
            else
                table_cell(&table, "%.1f GB/s", (double)setting->number[s] / 1e9);
        }
    }
    return diff_finish(&table);
}

/* Whether the figure is the sum over causes, and one cause is all of it: then that row says more. */
static bool is_repeated(const struct diff *diff, unsigned figure)
{
    if (figure != FIGURE_FETCHED && figure != FIGURE_EVICTED) return false;
    const struct spread *all = diff->figures[figure].of;
    for (unsigned f = figure + 1; f <= figure + MOVE_CAUSES; f++) {
        const struct spread *one = diff->figures[f].of;
        if (one[DIFF_A].median == all[DIFF_A].median && one[DIFF_B].median == all[DIFF_B].median) return true;
    }
    return false;
}

static void add_row(struct table *table, unsigned f, const struct diff_figure *figure)
{
    const struct spread *of = figure->of;
    uint64_t width = spread_width(&of[DIFF_A]), other = spread_width(&of[DIFF_B]);
    char name[FIGURE_NAME];
    table_cell(table, "%s", figure_name(f, name));
    diff_add_figure(table, figure_unit(f), of[DIFF_A].median);
    diff_add_figure(table, figure_unit(f), of[DIFF_B].median);
    add_change(table, figure_unit(f), of[DIFF_A].median, of[DIFF_B].median);
    diff_add_figure(table, figure_unit(f), width > other ? width : other);
}

static bool print_figures(const struct diff_view *view)
{
    static const struct {
        unsigned end;
        const char *title;
    } parts[] = {
        {FIGURE_MOVED, "per iteration"}, {FIGURE_PEAK, "bytes per iteration"}, {FIGURE_COUNT, "memory"}};
    const struct diff *diff = view->diff;
    unsigned f = 0;
    bool good = true;
    for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
        const struct table_column columns[] = {
            {parts[p].title, .text = true, .elastic = true}, {"A"}, {"B"}, {"change"}, {"%"}, {"spread"}};
        struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
        for (; f < parts[p].end; f++) {
            const struct diff_figure *figure = &diff->figures[f];
            bool always = f == diff_time(diff) && figure->compared;
            if (always || (diff_matters(figure->state) && !is_repeated(diff, f))) add_row(&table, f, figure);
        }
        good = diff_finish(&table) && good;
    }
    diff_print_rest(view, "figures", diff_count_figures(diff), 0);
    return good;
}

/* How much of the budgets is used, if that differs. */
static void print_budgets(const struct diff *diff, FILE *to)
{
    const struct model *a = diff->sides[DIFF_A].model, *b = diff->sides[DIFF_B].model;
    if (!diff_matters(diff->figures[FIGURE_PEAK].state) && a->budget_bytes == b->budget_bytes) return;
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        const struct model *model = diff->sides[s].model;
        char peak[SL_BYTES_TEXT], budget[SL_BYTES_TEXT];
        uint64_t most = diff->figures[FIGURE_PEAK].of[s].median;
        if (model->budget_bytes && model->moves.count)
            fprintf(to, "%c has at most %s on the device, %.1f %% of its budget of %s.\n", 'A' + (int)s,
                    sl_bytes_text(most, peak), 100.0 * (double)most / (double)model->budget_bytes,
                    sl_bytes_text(model->budget_bytes, budget));
    }
}

static void print_notes(const struct diff_view *view)
{
    const struct diff *diff = view->diff;
    const struct diff_side *a = &diff->sides[DIFF_A], *b = &diff->sides[DIFF_B];
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (!to) return;
    print_budgets(diff, to);
    if (diff->basis == DIFF_BY_DEVICE_TIME)
        fputs("Device time is that of kernels and stalls. The program's own times are not compared, because "
              "the "
              "device has a clock of its own.\n",
              to);
    if (a->steady.kind == STEADY_RUN)
        fputs("No iterations were found in both traces: the whole runs are compared as one.\n", to);
    else if (a->steady.count == 1 || b->steady.count == 1)
        fputs("One iteration of a trace does not show how much iterations differ: record longer runs.\n", to);
    if (!diff->sites_in_common && a->sites.count && b->sites.count)
        fputs("No allocation site is in both traces: the program or its libraries were built anew.\n", to);
    if (fclose(to) == 0 && bytes) {
        putchar('\n');
        print_wrapped(stdout, text, help_width(stdout));
    }
    free(text);
}

int diff_print_text(const struct diff_view *view)
{
    FILE *headline = help_begin();
    diff_headline(view->diff, headline);
    help_end(headline);
    bool good = print_sides(view) && print_settings(view) && print_figures(view) &&
                diff_print_kernels(view) && diff_print_sites(view);
    print_notes(view);
    return good ? EXIT_OK : failure("trace diff: out of memory");
}
