/* Tables of pointers: memory that the program filled from the host with addresses of our allocations. A
 * kernel that is given a table may touch what it points to, and what that points to in turn.
 *
 * The same goes for a module's variables, which all of its kernels may use.
 *
 * Small copies from the host are read as they pass; what kernels write themselves is not seen. Caller holds
 * the order lock.
 */
#ifndef SLUICE_TABLE_H
#define SLUICE_TABLE_H

#include "base/types.h"

struct sl_scanner;
struct sl_launch;

#define SL_TABLE_BYTES (16 * SL_KIB) /* copies beyond are no tables */

struct sl_table {
    uint64_t begin, end; /* what was copied */
    uint32_t slot;       /* that it lies in; SL_NONE: in a variable */
    uint64_t module;     /* of the variable */
    uint64_t *targets;   /* the addresses in it that were ours */
    uint32_t target_count;
    uint64_t followed; /* the walk that came here last */
};

struct sl_tables {
    struct sl_table *tables; /* by `begin`, disjoint */
    uint32_t count, capacity;
    uint64_t walks;
    struct sl_variable {
        uint64_t address, bytes, module;
    } * variables; /* of modules */
    uint32_t variable_count, variable_capacity;
    bool in_variables;                  /* there are, or were, tables in them */
    uint64_t words[SL_TABLE_BYTES / 8]; /* of the copy that is looked at */
};

void sl_tables_close(struct sl_tables *tables); /* accepts a zeroed one */

/* A module variable is at `address`. Without memory it is not noted. */
void sl_tables_variable(struct sl_tables *tables, uint64_t address, uint64_t bytes, uint64_t module);

/* A copy or set that is about to be made: tables that it overwrites are forgotten, and one that it writes is
 * kept. */
void sl_tables_note(struct sl_scanner *scanner, const struct sl_launch *launch);

/* Adds to the words that are scanned, what the tables point to that kernel `number` is given; 0: a graph,
 * whose kernels' variables were followed when it was noted. */
void sl_tables_follow(struct sl_scanner *scanner, uint32_t number);

#endif
