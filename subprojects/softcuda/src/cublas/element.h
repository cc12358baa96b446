/* Element types of matrices and vectors, and conversion of rows of them to and from computing precision. */
#ifndef SOFTCUDA_CUBLAS_ELEMENT_H
#define SOFTCUDA_CUBLAS_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sc_type { SC_F32, SC_F64, SC_F16, SC_BF16, SC_TYPES };

/* Converts a cudaDataType; false: not one of these types. */
bool sc_type_from_cuda(int cuda, uint8_t *type);

static inline size_t sc_type_bytes(uint8_t type)
{
    static const uint8_t bytes[SC_TYPES] = {4, 8, 2, 2};
    return bytes[type];
}

/* `count` contiguous elements. Storing rounds to nearest even. pre: type is not SC_F64. */
void sc_load_floats(uint8_t type, const void *from, float *to, size_t count);
void sc_store_floats(uint8_t type, const float *from, void *to, size_t count);

/* `count` elements of any type, `stride` elements apart (may be negative). */
void sc_load_doubles(uint8_t type, const void *from, int64_t stride, double *to, size_t count);
void sc_store_doubles(uint8_t type, const double *from, void *to, int64_t stride, size_t count);

/* One element. */
double sc_load_one(uint8_t type, const void *from);

#endif
