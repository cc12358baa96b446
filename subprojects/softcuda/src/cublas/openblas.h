/* The OpenBLAS functions in use. They run in the calling thread: a caller that splits work over threads must
 * use pieces that do not depend on the number of threads. Column-major. Thread-safe. */
#ifndef SOFTCUDA_CUBLAS_OPENBLAS_H
#define SOFTCUDA_CUBLAS_OPENBLAS_H

#include <stdbool.h>
#include <stdint.h>

/* C = alpha op(A) op(B) + beta C; A is m x k after op. Counts and leading dimensions fit an int. */
void sc_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
              const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void sc_dgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
              const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
              int64_t ldc);

#endif
