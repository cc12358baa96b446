/* The vector kernels: BLAS level 1, and matrix-vector products. */
#ifndef SOFTCUDA_CUBLAS_VECTOR_H
#define SOFTCUDA_CUBLAS_VECTOR_H

#include "element.h"
#include "native.h"

enum sc_vector_op {
    SC_AXPY, /* y += alpha x */
    SC_SCAL, /* x *= alpha */
    SC_COPY, /* y = x */
    SC_SWAP,
    SC_DOT, /* this operation and those that follow have a result */
    SC_NRM2,
    SC_ASUM,
    SC_IAMAX, /* counted from 1; int64_t if type_result is SC_F64, else int32_t */
    SC_IAMIN,
};

struct sc_vector_shape {
    int64_t n, incx, incy;
    double alpha; /* used if the pointer is 0 */
    uint8_t op, type_x, type_y, type_alpha, type_result;
};

struct sc_vector {
    uint64_t x, y, alpha, result;
    struct sc_vector_shape shape;
};

/* y = alpha op(A) x + beta y for each matrix of a batch; A is m x n before op. */
struct sc_gemv_shape {
    int64_t m, n, lda, incx, incy;
    int64_t stride_a, stride_x, stride_y;
    double alpha, beta;
    uint32_t batch;
    uint8_t type_a, type_x, type_y, type_scalar;
    bool transpose, by_pointer;
};

struct sc_gemv {
    uint64_t a, x, y, alpha, beta;
    struct sc_gemv_shape shape;
};

/* C = alpha op(A) + beta op(B); C is m x n. */
struct sc_geam_shape {
    int64_t m, n, lda, ldb, ldc;
    double alpha, beta;
    uint8_t type;
    bool transpose_a, transpose_b;
};

struct sc_geam {
    uint64_t a, b, c, alpha, beta;
    struct sc_geam_shape shape;
};

extern const struct sc_native_kernel sc_vector_kernel, sc_gemv_kernel, sc_geam_kernel;

#endif
