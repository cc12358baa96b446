/* Rows of blocks on standard output, each with a label before it and a figure behind. */
#ifndef SLUICE_TOOL_CANVAS_H
#define SLUICE_TOOL_CANVAS_H

#include "tools/analyses/accounts.h"
#include "tools/text/terminal.h"

enum { CANVAS_LEAST = 24 }; /* columns of a terminal */

struct canvas {
    uint32_t columns; /* of blocks */
    bool figures, unicode;
};

/* pre: width >= CANVAS_LEAST. Narrow ones have no figures. */
struct canvas canvas_of_width(unsigned width);

/* A block for each number: full where it is `full`, and to be seen where it is not 0. */
void canvas_row(const struct canvas *canvas, const char *label, enum terminal_style style,
                const uint64_t *row, uint64_t full, const char *figure);

/* Each phase has its name where it begins, as far as there is room. phase: enum phase of each column. */
void canvas_phases(const struct canvas *canvas, const char *label, const uint8_t *phase);

/* From 0 to `ns`. */
void canvas_axis(const struct canvas *canvas, uint64_t ns);

uint64_t row_most(const uint64_t *row, uint32_t count);
uint64_t row_sum(const uint64_t *row, uint32_t count);

/* The step of training that is shown where none is asked for: late enough to be settled, not the last, behind
 * which programs end. 0: there is none. */
static inline uint32_t usual_step(const struct phases *phases)
{
    return phases->step_count > 1 ? phases->step_count - 1 : phases->step_count;
}

#endif
