/* What the tables of diff_text.c and diff_lists.c have in common. */
#ifndef SLUICE_TOOL_DIFF_CELLS_H
#define SLUICE_TOOL_DIFF_CELLS_H

#include "tools/text/table.h"
#include "tools/views/diff_views.h"

/* A figure with its unit. Returns `out`. */
enum { DIFF_FIGURE_TEXT = 32 };
const char *diff_figure_text(enum figure_unit unit, uint64_t value, char out[DIFF_FIGURE_TEXT]);

/* Adds it as a cell; 0 as "-". */
void diff_add_figure(struct table *table, enum figure_unit unit, uint64_t value);

/* Prints an empty line and the table, if it has rows, and frees it. False: out of memory. */
bool diff_finish(struct table *table);

/* Prints one line on the rows that are not in a table, if there are any: `hidden` by the limit, and those
 * that do not matter. */
void diff_print_rest(const struct diff_view *view, const char *what, struct diff_counts counts,
                     size_t hidden);

/* diff_lists.c: tables. False: out of memory. */
bool diff_print_kernels(const struct diff_view *view);
bool diff_print_sites(const struct diff_view *view);

#endif
