/* How the kernels report their memory accesses. */
#ifndef SOFTCUDA_CUBLAS_TOUCH_H
#define SOFTCUDA_CUBLAS_TOUCH_H

#include "element.h"
#include "native.h"

enum sc_use { SC_READ = 1, SC_WRITE = 2 };

static inline bool sc_touch_bytes(struct sc_native_launch *launch, uint64_t address, uint64_t bytes,
                                  unsigned use)
{
    struct sc_native_access access = {address, bytes, bytes, 1, use & SC_READ, use & SC_WRITE};
    return launch->touch(launch, &access);
}

/* `columns` columns of `rows` elements; columns start `ld` elements apart. */
static inline bool sc_touch_matrix(struct sc_native_launch *launch, uint64_t address, int64_t rows,
                                   int64_t columns, int64_t ld, uint8_t type, unsigned use)
{
    uint64_t size = sc_type_bytes(type);
    struct sc_native_access access = {address,           (uint64_t)rows * size, (uint64_t)ld * size,
                                      (uint64_t)columns, use & SC_READ,         use & SC_WRITE};
    return launch->touch(launch, &access);
}

/* `count` elements, `stride` elements apart; if the stride is negative, `address` is the last element, as in
 * BLAS. */
static inline bool sc_touch_vector(struct sc_native_launch *launch, uint64_t address, int64_t count,
                                   int64_t stride, uint8_t type, unsigned use)
{
    if (count <= 0) return true;
    if (stride == 0) return sc_touch_bytes(launch, address, sc_type_bytes(type), use);
    return sc_touch_matrix(launch, address, 1, count, stride < 0 ? -stride : stride, type, use);
}

/* The address of a vector's first element in BLAS order, for a stride of either sign. */
static inline uint64_t sc_vector_first(uint64_t address, int64_t count, int64_t stride, uint8_t type)
{
    return stride < 0 ? address + (uint64_t)((1 - count) * stride) * sc_type_bytes(type) : address;
}

#endif
