/* The kernels and the allocation sites that differ, as tables. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/model/kernel_title.h"
#include "tools/views/diff_cells.h"

static void add_launches(struct table *table, const struct diff_kernel *kernel)
{
    uint64_t a = kernel->launches.of[DIFF_A].median, b = kernel->launches.of[DIFF_B].median;
    if (a == b)
        table_cell(table, "%" PRIu64, a);
    else
        table_cell(table, "%" PRIu64 " -> %" PRIu64, a, b);
}

/* "+1.20 us", or what happened to it. */
static void add_time_change(struct table *table, const struct diff_figure *figure, enum diff_state state)
{
    uint64_t a = figure->of[DIFF_A].median, b = figure->of[DIFF_B].median;
    char text[DIFF_FIGURE_TEXT];
    if (state == DIFF_ADDED || state == DIFF_GONE)
        table_cell(table, "%s", diff_state_name(state));
    else if (a == b || !figure->compared)
        table_cell(table, "-");
    else
        table_cell(table, "%c%s", a < b ? '+' : '-', time_text(a < b ? b - a : a - b, text));
}

static bool add_kernel(struct table *table, const struct diff_kernel *kernel, bool stalls)
{
    char *title = kernel->kind == SL_LAUNCH_KERNEL ? kernel_title(kernel->name) : strdup(kernel->name);
    if (!title) return false;
    table_cell(table, "%s", title);
    free(title);
    add_launches(table, kernel);
    diff_add_figure(table, FIGURE_IN_NS, kernel->time.of[DIFF_A].median);
    diff_add_figure(table, FIGURE_IN_NS, kernel->time.of[DIFF_B].median);
    add_time_change(table, &kernel->time, kernel->state);
    if (stalls) add_time_change(table, &kernel->stalled, DIFF_SAME);
    return true;
}

bool diff_print_kernels(const struct diff_view *view)
{
    static const struct table_column columns[] = {
        {"kernel", .text = true, .elastic = true}, {"launches"}, {"A"}, {"B"}, {"change"}, {"stalled"}};
    const struct diff *diff = view->diff;
    bool stalls =
        diff->figures[FIGURE_STALLED].of[DIFF_A].most || diff->figures[FIGURE_STALLED].of[DIFF_B].most;
    struct table table = {.columns = columns,
                          .column_count = sizeof(columns) / sizeof(*columns) - (stalls ? 0 : 1)};
    struct diff_counts counts = diff_count_kernels(diff);
    size_t shown = 0;
    bool good = true;
    for (size_t k = 0; k < diff->kernel_count && shown < view->limit && good; k++) {
        if (!diff_matters(diff->kernels[k].state)) continue;
        good = add_kernel(&table, &diff->kernels[k], stalls);
        shown++;
    }
    good = diff_finish(&table) && good;
    diff_print_rest(view, "kernels", counts, counts.matter - shown);
    return good;
}

bool diff_print_sites(const struct diff_view *view)
{
    static const struct table_column columns[] = {
        {"allocation site", .text = true, .elastic = true}, {"A"}, {"B"}, {"change"}};
    const struct diff *diff = view->diff;
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    struct diff_counts counts = diff_count_sites(diff);
    size_t shown = 0;
    for (size_t i = 0; i < diff->site_count && shown < view->limit; i++) {
        const struct diff_site *site = &diff->sites[i];
        if (!diff_matters(site->state)) continue;
        bool moved = site->state == DIFF_ADDED || site->state == DIFF_GONE;
        uint64_t a = site->of[DIFF_A] ? site->of[DIFF_A]->peak_bytes : 0;
        uint64_t b = site->of[DIFF_B] ? site->of[DIFF_B]->peak_bytes : 0;
        char title[SITE_TITLE];
        table_cell(&table, "%s", diff_site_title(view, site, title));
        diff_add_figure(&table, FIGURE_IN_BYTES, a);
        diff_add_figure(&table, FIGURE_IN_BYTES, b);
        if (moved)
            table_cell(&table, "%s", diff_state_name(site->state));
        else
            table_cell(&table, "%c%s", a < b ? '+' : '-', sl_bytes_text(a < b ? b - a : a - b, title));
        shown++;
    }
    bool good = diff_finish(&table);
    diff_print_rest(view, "allocation sites", counts, counts.matter - shown);
    return good;
}
