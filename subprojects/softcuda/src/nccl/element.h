/* The element types of NCCL, and reductions of them. */
#ifndef SOFTCUDA_NCCL_ELEMENT_H
#define SOFTCUDA_NCCL_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "api.h"

/* The values of ncclRedOp_t up to ncclAvg, and this one: a sum whose terms are multiplied first, each rank's
 * by a factor of its own. */
#define SC_OP_FACTOR 5

static inline size_t sc_type_bytes(uint8_t type)
{
    static const uint8_t bytes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return bytes[type];
}

/* Reduces `terms` arrays element by element, in the order of the arrays. Types of 16 and 8 bits are computed
 * in single precision and rounded once, at the end. Addresses need no alignment; `out` may be one of the
 * arrays. `factors`: the bits of one element per array, for SC_OP_FACTOR only. An average divides by `terms`;
 * integers are rounded towards zero. Maximum and minimum ignore NaNs. */
void sc_reduce(uint8_t type, uint8_t op, const void *const *arrays, const uint64_t *factors, unsigned terms,
               void *out, size_t count);

#endif
