/* Rows of blocks on standard output, each with a label before it and a figure after it. */
#ifndef SLUICE_TOOL_CANVAS_H
#define SLUICE_TOOL_CANVAS_H

#include "tools/analyses/accounts.h"
#include "tools/text/terminal.h"

enum { CANVAS_LEAST = 24 }; /* minimum width in columns */

struct canvas {
    uint32_t columns; /* of blocks */
    bool figures, unicode;
};

/* Precondition: width >= CANVAS_LEAST. Narrow ones have no figures. */
struct canvas canvas_of_width(unsigned width);

/* Draws a block for each number: full at `full`, visible unless 0. `what` the figure is of the row: "peak",
 * "sum" or "mean". */
void canvas_row(const struct canvas *canvas, const char *label, enum terminal_style style,
                const uint64_t *row, uint64_t full, const char *figure, const char *what);

/* Writes the name of each phase at its start, as far as it fits. phase: enum phase of each column. */
void canvas_phases(const struct canvas *canvas, const char *label, const uint8_t *phase);

/* An axis from 0 to `ns`. `clock`: whose time it shows, at most 16 columns. */
void canvas_axis(const struct canvas *canvas, uint64_t ns, const char *clock);

uint64_t row_most(const uint64_t *row, uint32_t count);
uint64_t row_sum(const uint64_t *row, uint32_t count);

/* The default training step: late enough to be in a steady state, but not the last, which the end of the
 * program may cut. 0: there is none. */
static inline uint32_t usual_step(const struct phases *phases)
{
    return phases->step_count > 1 ? phases->step_count - 1 : phases->step_count;
}

#endif
