/* The rows of ops.def as data for the selector. */
#ifndef SOFTCUDA_ENGINE_ROWS_H
#define SOFTCUDA_ENGINE_ROWS_H

#include "program.h"

struct sc_row {
    const char *name;
    uint8_t flops, sources;
    uint8_t bytes[5]; /* container of d, a, b, c, e */
    char type[5];     /* 'f' if a literal operand is floating point, else 'b' */
};

extern const struct sc_row sc_rows[SC_OP_LANE_COUNT];

/* The code of the row with this name; SC_OP_CODE_COUNT: there is none. Thread-safe. */
uint16_t sc_row_find(const char *name);

#endif
