/* Tables of pointers: memory that the program filled from the host with addresses of our allocations. A
 * kernel that is given a table may touch what it points to, and what that points to in turn. The same holds
 * for a module's variables, which all of its kernels may use.
 *
 * Small copies from the host are read when they are made; tables that kernels write are not detected. Caller
 * holds the order lock.
 */
#ifndef SLUICE_TABLE_H
#define SLUICE_TABLE_H

#include "base/types.h"

struct sl_scanner;
struct sl_launch;

#define SL_TABLE_BYTES (16 * SL_KIB) /* larger copies are not tables */

struct sl_table {
    uint64_t begin, end; /* of the copy */
    uint32_t slot;       /* that holds it; SL_NONE: a variable does */
    uint64_t module;     /* of the variable */
    uint64_t *targets;   /* the addresses in it that are ours */
    uint32_t target_count;
    uint64_t followed; /* the last walk that came here */
};

struct sl_tables {
    struct sl_table *tables; /* sorted by `begin`, disjoint */
    uint32_t count, capacity;
    uint64_t walks;
    struct sl_variable {
        uint64_t address, bytes, module;
    } * variables; /* of modules */
    uint32_t variable_count, variable_capacity;
    bool in_variables;                  /* they hold, or held, tables */
    uint64_t words[SL_TABLE_BYTES / 8]; /* of the copy being read */
};

void sl_tables_close(struct sl_tables *tables); /* accepts a zeroed one */

/* Notes a module variable at `address`. Does nothing if out of memory. */
void sl_tables_variable(struct sl_tables *tables, uint64_t address, uint64_t bytes, uint64_t module);

/* Notes a copy or set that is about to be made: forgets the tables that it overwrites, and keeps one that it
 * writes. */
void sl_tables_note(struct sl_scanner *scanner, const struct sl_launch *launch);

/* Follows the tables that kernel `number` is given and adds their targets to the scanned words. 0: a graph,
 * whose kernels' variables were followed when its footprint was made. */
void sl_tables_follow(struct sl_scanner *scanner, uint32_t number);

#endif
