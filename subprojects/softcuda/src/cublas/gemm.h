/* The matrix product kernel: D = epilogue(alpha op(A) op(B) + beta C), for each matrix of a batch.
 *
 * All matrices are column-major; callers transpose row-major products. Each pointer is a parameter of its
 * own, so that tools which inspect a launch's parameters find it. */
#ifndef SOFTCUDA_CUBLAS_GEMM_H
#define SOFTCUDA_CUBLAS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "element.h"
#include "native.h"

/* Operations on a finished element, applied in this order; the values are bits. */
enum sc_epilogue {
    SC_EPILOGUE_BIAS = 1,
    SC_EPILOGUE_RELU = 2,
    SC_EPILOGUE_GELU = 4,
    SC_EPILOGUE_AUX = 8,    /* RELU stores which elements were positive, GELU stores its input */
    SC_EPILOGUE_DRELU = 16, /* multiplies by the derivative at the stored AUX values */
    SC_EPILOGUE_DGELU = 32,
    SC_EPILOGUE_BGRAD = 64,   /* bias = sums of D's rows */
    SC_EPILOGUE_BGRADA = 128, /* bias = sums of op(A)'s rows */
    SC_EPILOGUE_BGRADB = 256, /* bias = sums of op(B)'s columns */
};

struct sc_gemm_shape {
    int64_t m, n, k;
    int64_t lda, ldb, ldc, ldd;
    int64_t stride_a, stride_b, stride_c, stride_d; /* elements from one matrix of the batch to the next */
    int64_t bias_stride, aux_ld, aux_stride;        /* for the AUX of RELU: counted in bits */
    double alpha, beta;                             /* used if the pointers alpha and beta are 0 */
    uint32_t batch;
    uint32_t epilogue;
    uint8_t type_a, type_b, type_c, type_d, bias_type, aux_type;
    uint8_t rate;        /* enum sc_matrix_rate: what the products may be rounded to */
    uint8_t scalar_type; /* type of the values at the pointers alpha and beta */
    bool transpose_a, transpose_b;
    bool by_pointer;         /* a, b, c and d are arrays of pointers, one for each matrix of the batch */
    bool bias_along_columns; /* one bias element per column of D instead of per row */
};

struct sc_gemm {
    uint64_t a, b, c, d, bias, aux;
    uint64_t alpha, beta; /* device pointers, or 0 */
    struct sc_gemm_shape shape;
};

extern const struct sc_native_kernel sc_gemm_kernel;

/* Address of a matrix of the batch. */
static inline uint64_t sc_gemm_matrix(bool by_pointer, uint64_t base, int64_t stride, uint8_t type,
                                      uint32_t index)
{
    if (by_pointer) return ((const uint64_t *)base)[index];
    return base + (uint64_t)(stride * (int64_t)index * (int64_t)sc_type_bytes(type));
}

#endif
