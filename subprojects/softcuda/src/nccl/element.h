/* The element types of NCCL, and sums and the like of them. */
#ifndef SOFTCUDA_NCCL_ELEMENT_H
#define SOFTCUDA_NCCL_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "api.h"

/* Of ncclRedOp_t the values up to ncclAvg, and this: a sum whose terms are first multiplied, each rank's by
 * its own factor. */
#define SC_OP_FACTOR 5

static inline size_t sc_type_bytes(uint8_t type)
{
    static const uint8_t bytes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return bytes[type];
}

/* What `terms` arrays give, element by element, in the order of the arrays. Types of 16 and 8 bits are
 * computed in single precision and rounded once, at the end. Addresses need no alignment; `out` may be one of
 * the arrays. `factors`: of each array, the bits of an element; for SC_OP_FACTOR only. The average is divided
 * by `terms`; of integers towards zero. Maximum and minimum leave out NaNs. */
void sc_reduce(uint8_t type, uint8_t op, const void *const *arrays, const uint64_t *factors, unsigned terms,
               void *out, size_t count);

#endif
