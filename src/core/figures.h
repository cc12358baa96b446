/* The figures that a program may ask for while it runs (include/sluice/figures.h). */
#ifndef SLUICE_CORE_FIGURES_H
#define SLUICE_CORE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/figures.h"

/* Fills *out with those of the running core with this number. False, and *out is unchanged: there is none.
 * Takes the core's order lock. */
bool sl_runtime_figures(uint32_t number, struct sluice_figures *out);

#endif
