/* cublasHandle_t, and functions shared by the sources of libcublas. */
#ifndef SOFTCUDA_CUBLAS_HANDLE_H
#define SOFTCUDA_CUBLAS_HANDLE_H

#include <pthread.h>
#include <stdbool.h>

#include "gate.h"
#include "vector.h"

struct cublasContext {
    uint64_t magic; /* must be first */
    CUstream stream;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics;
    cublasMath_t math;
    int processors;       /* set by cublasSetSmCountTarget */
    pthread_mutex_t lock; /* guards `result` */
    void *result;         /* buffer for results that the host waits for; NULL until it is needed */
};

/* CUBLAS_STATUS_NOT_INITIALIZED if it is not a handle. */
cublasStatus_t sc_handle_check(cublasHandle_t handle);

/* Logs that `function` was called with an option that is not implemented. */
cublasStatus_t sc_not_supported(const char *function, const char *what);

/* One product or a batch of products, column-major. `type_...` are cudaDataTypes. */
struct sc_product {
    const char *function;
    cublasOperation_t transa, transb;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    int type_a, type_b, type_c;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    int64_t batch;
    bool by_pointer;
    cublasComputeType_t compute;
};
cublasStatus_t sc_product(cublasHandle_t handle, const struct sc_product *product);

/* A += alpha x y' */
struct sc_outer_product {
    int type;
    int64_t m, n;
    const void *alpha, *x, *y;
    void *a;
    int64_t incx, incy, lda;
};
cublasStatus_t sc_outer_product(cublasHandle_t handle, const struct sc_outer_product *product);

struct sc_product_with_vector {
    cublasOperation_t trans;
    int type;
    int64_t m, n;
    const void *alpha, *a, *x, *beta;
    void *y;
    int64_t lda, incx, incy;
    int64_t stride_a, stride_x, stride_y;
    int64_t batch;
    bool by_pointer;
};
cublasStatus_t sc_product_with_vector(cublasHandle_t handle, const struct sc_product_with_vector *product);

struct sc_matrix_sum {
    cublasOperation_t transa, transb;
    int type;
    int64_t m, n;
    const void *alpha, *a, *beta, *b;
    void *c;
    int64_t lda, ldb, ldc;
};
cublasStatus_t sc_matrix_sum(cublasHandle_t handle, const struct sc_matrix_sum *sum);

/* A call of BLAS level 1. alpha and result may be NULL if the operation has none. */
struct sc_vector_call {
    const char *function;
    enum sc_vector_op op;
    int64_t n;
    const void *x, *alpha;
    void *y, *result;
    int64_t incx, incy;
    int type_x, type_y, type_alpha, type_result, execution;
    bool wide_index; /* IAMAX, IAMIN */
};
cublasStatus_t sc_vector_call(cublasHandle_t handle, const struct sc_vector_call *call);

/* cublasSetMatrix and similar functions. */
struct sc_transfer {
    bool to_device, asynchronous;
    int64_t rows, columns, bytes, from_ld, to_ld;
    const void *from;
    void *to;
    CUstream stream;
};
cublasStatus_t sc_transfer(const struct sc_transfer *transfer);

#endif
