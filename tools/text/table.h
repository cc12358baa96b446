/* Aligned columns, and figures as people read them. */
#ifndef SLUICE_TABLE_H
#define SLUICE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table_column {
    const char *title;
    bool text;    /* aligned to the left; numbers are to the right */
    bool elastic; /* cut where a terminal is too narrow; one column at most */
};

/* Zero it, set the columns. */
struct table {
    const struct table_column *columns;
    size_t column_count; /* at most TABLE_COLUMNS_MAX */
    char *cells;         /* each ends with a 0, a row behind the other */
    size_t bytes, room, cell_count;
    bool no_memory;
};
enum { TABLE_COLUMNS_MAX = 32 };

/* The next cell; a row has as many as there are columns. pre: the result passed defuse_text. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_bytes(struct table *table, uint64_t bytes);
void table_time(struct table *table, uint64_t ns);

/* The share of `part` in `whole` in per cent, "-" where there is no whole. */
void table_share(struct table *table, uint64_t part, uint64_t whole);

/* Titles, then the rows. Cut to the width of `to` if that is a terminal. False: there was no memory for it.
 */
bool table_print(const struct table *table, FILE *to);
void table_free(struct table *table);

/* "812 ns", "3.20 ms", "75.1 s". Returns `out`. */
#define TIME_TEXT 24
const char *time_text(uint64_t ns, char out[TIME_TEXT]);

#endif
