/* How much of their peak tensor cores reach. */
#ifndef SC_MATRIX_SHARE_H
#define SC_MATRIX_SHARE_H

#include "engine.h"

/* The part of the peak rate that a product of this shape reaches on `processors` multiprocessors; in (0, 1].
 * Results are parted into tiles, each of one multiprocessor, and what a tile has beyond the matrix, what
 * multiprocessors have no tile, and what a sum takes to begin with is lost; the best of some tile sizes and
 * of some parts of the sum counts. NVIDIA, Matrix Multiplication Background User's Guide, describes these
 * losses; the constants are ours, so that large square products reach 0.85. Where the shape is not known:
 * 0.5, which attention written with mma is near to. */
double sc_matrix_share(const struct sc_matrix_work *work, uint64_t processors);

#endif
