/* Aligned columns, and readable figures. */
#ifndef SLUICE_TABLE_H
#define SLUICE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table_column {
    const char *title;
    bool text;    /* left-aligned; numbers are right-aligned */
    bool elastic; /* shortened on a narrow terminal; at most one column */
};

/* Zero it, set the columns. */
struct table {
    const struct table_column *columns;
    size_t column_count; /* at most TABLE_COLUMNS_MAX */
    char *cells;         /* each ends with a 0; row by row */
    size_t bytes, room, cell_count;
    bool no_memory;
};
enum { TABLE_COLUMNS_MAX = 32 };

/* The next cell, row by row. Precondition: the text has passed sl_defuse. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_bytes(struct table *table, uint64_t bytes);
void table_time(struct table *table, uint64_t ns);

/* The share of `part` in `whole` in per cent, "-" if `whole` is 0. */
void table_share(struct table *table, uint64_t part, uint64_t whole);

/* Prints the titles and the rows. If `to` is a terminal, the elastic column is shortened until they fit; if
 * that is not enough, the columns are printed in parts below one another, each with the first column. False:
 * out of memory. */
bool table_print(const struct table *table, FILE *to);
/* Prints a text that has `before` columns in front of it, cut at the end of the line if `to` is a terminal.
 * Precondition: sl_defuse(text). */
void print_fitted(const char *text, size_t before, FILE *to);

void table_free(struct table *table);

/* "812 ns", "3.20 ms", "75.1 s". Returns `out`. */
#define TIME_TEXT 24
const char *time_text(uint64_t ns, char out[TIME_TEXT]);

#endif
