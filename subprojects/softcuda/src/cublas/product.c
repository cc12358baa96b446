/* Matrix products, matrix sums and matrix-vector products: convert calls to the parameters of a launch. */
#include "gemm.h"
#include "handle.h"
#include "rate.h"

static bool is_operation(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

static bool long_enough(int64_t ld, int64_t rows)
{
    return ld >= (rows > 1 ? rows : 1);
}

/* The type of alpha and beta; false: the arithmetic is not supported. */
static bool scalar_type(cublasComputeType_t compute, uint8_t *type)
{
    switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        *type = SC_F16;
        return true;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
        *type = SC_F32;
        return true;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
        *type = SC_F64;
        return true;
    default:
        return false;
    }
}

/* Checks the combinations that cuBLAS documents. */
static bool types_match(const struct sc_product *product, struct sc_gemm_shape *shape)
{
    if (!scalar_type(product->compute, &shape->scalar_type) ||
        !sc_type_from_cuda(product->type_a, &shape->type_a) ||
        !sc_type_from_cuda(product->type_b, &shape->type_b) ||
        !sc_type_from_cuda(product->type_c, &shape->type_c))
        return false;
    shape->type_d = shape->type_c;
    if (shape->type_a != shape->type_b) return false;
    bool same = shape->type_a == shape->type_c;
    if (shape->scalar_type == SC_F32) return shape->type_a != SC_F64 && (same || shape->type_c == SC_F32);
    return same && shape->type_a == shape->scalar_type;
}

cublasStatus_t sc_product(cublasHandle_t handle, const struct sc_product *product)
{
    cublasStatus_t status = sc_handle_check(handle);
    if (status) return status;
    bool transpose_a = product->transa != CUBLAS_OP_N, transpose_b = product->transb != CUBLAS_OP_N;
    if (!is_operation(product->transa) || !is_operation(product->transb) || product->m < 0 ||
        product->n < 0 || product->k < 0 || product->batch < 0 || product->batch > INT32_MAX ||
        !long_enough(product->lda, transpose_a ? product->k : product->m) ||
        !long_enough(product->ldb, transpose_b ? product->n : product->k) ||
        !long_enough(product->ldc, product->m))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct sc_gemm gemm = {.shape = {
                               .m = product->m,
                               .n = product->n,
                               .k = product->k,
                               .lda = product->lda,
                               .ldb = product->ldb,
                               .ldc = product->ldc,
                               .ldd = product->ldc,
                               .stride_a = product->stride_a,
                               .stride_b = product->stride_b,
                               .stride_c = product->stride_c,
                               .stride_d = product->stride_c,
                               .batch = (uint32_t)product->batch,
                               .transpose_a = transpose_a,
                               .transpose_b = transpose_b,
                               .by_pointer = product->by_pointer,
                           }};
    if (!types_match(product, &gemm.shape))
        return sc_not_supported(product->function, "this combination of types");
    gemm.shape.rate =
        sc_rate_of_product(gemm.shape.type_a, product->compute, handle->math & CUBLAS_TF32_TENSOR_OP_MATH);
    if (!product->m || !product->n || !product->batch) return CUBLAS_STATUS_SUCCESS;
    if (!product->alpha || !product->beta) return CUBLAS_STATUS_INVALID_VALUE;
    gemm.a = (uint64_t)product->a;
    gemm.b = (uint64_t)product->b;
    gemm.c = gemm.d = (uint64_t)product->c;
    if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
        gemm.alpha = (uint64_t)product->alpha;
        gemm.beta = (uint64_t)product->beta;
    } else {
        gemm.shape.alpha = sc_load_one(gemm.shape.scalar_type, product->alpha);
        gemm.shape.beta = sc_load_one(gemm.shape.scalar_type, product->beta);
    }
    return sc_gate_launch(SC_KERNEL_GEMM, handle->stream, &gemm);
}

cublasStatus_t sc_product_with_vector(cublasHandle_t handle, const struct sc_product_with_vector *product)
{
    cublasStatus_t status = sc_handle_check(handle);
    if (status) return status;
    if (!is_operation(product->trans) || product->m < 0 || product->n < 0 || product->batch < 0 ||
        product->batch > INT32_MAX || !long_enough(product->lda, product->m) || !product->incx ||
        !product->incy)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!product->m || !product->n || !product->batch) return CUBLAS_STATUS_SUCCESS;
    if (!product->alpha || !product->beta) return CUBLAS_STATUS_INVALID_VALUE;
    uint8_t type;
    if (!sc_type_from_cuda(product->type, &type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    struct sc_gemv gemv = {
        .a = (uint64_t)product->a,
        .x = (uint64_t)product->x,
        .y = (uint64_t)product->y,
        .shape = {.m = product->m,
                  .n = product->n,
                  .lda = product->lda,
                  .incx = product->incx,
                  .incy = product->incy,
                  .stride_a = product->stride_a,
                  .stride_x = product->stride_x,
                  .stride_y = product->stride_y,
                  .batch = (uint32_t)product->batch,
                  .type_a = type,
                  .type_x = type,
                  .type_y = type,
                  .type_scalar = type,
                  .transpose = product->trans != CUBLAS_OP_N,
                  .by_pointer = product->by_pointer},
    };
    if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
        gemv.alpha = (uint64_t)product->alpha;
        gemv.beta = (uint64_t)product->beta;
    } else {
        gemv.shape.alpha = sc_load_one(type, product->alpha);
        gemv.shape.beta = sc_load_one(type, product->beta);
    }
    return sc_gate_launch(SC_KERNEL_GEMV, handle->stream, &gemv);
}

/* If C is also an operand, each column is read just before it is written: legal only with the same layout. */
static bool overlaps_wrongly(const struct sc_matrix_sum *sum)
{
    if (sum->c == sum->a && (sum->transa != CUBLAS_OP_N || sum->lda != sum->ldc)) return true;
    return sum->c == sum->b && (sum->transb != CUBLAS_OP_N || sum->ldb != sum->ldc);
}

cublasStatus_t sc_matrix_sum(cublasHandle_t handle, const struct sc_matrix_sum *sum)
{
    cublasStatus_t status = sc_handle_check(handle);
    if (status) return status;
    bool transpose_a = sum->transa != CUBLAS_OP_N, transpose_b = sum->transb != CUBLAS_OP_N;
    if (!is_operation(sum->transa) || !is_operation(sum->transb) || sum->m < 0 || sum->n < 0 ||
        !long_enough(sum->lda, transpose_a ? sum->n : sum->m) ||
        !long_enough(sum->ldb, transpose_b ? sum->n : sum->m) || !long_enough(sum->ldc, sum->m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!sum->m || !sum->n) return CUBLAS_STATUS_SUCCESS;
    if (!sum->alpha || !sum->beta || overlaps_wrongly(sum)) return CUBLAS_STATUS_INVALID_VALUE;
    struct sc_geam geam = {
        .a = (uint64_t)sum->a,
        .b = (uint64_t)sum->b,
        .c = (uint64_t)sum->c,
        .shape = {.m = sum->m,
                  .n = sum->n,
                  .lda = sum->lda,
                  .ldb = sum->ldb,
                  .ldc = sum->ldc,
                  .transpose_a = transpose_a,
                  .transpose_b = transpose_b},
    };
    if (!sc_type_from_cuda(sum->type, &geam.shape.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
        geam.alpha = (uint64_t)sum->alpha;
        geam.beta = (uint64_t)sum->beta;
    } else {
        geam.shape.alpha = sc_load_one(geam.shape.type, sum->alpha);
        geam.shape.beta = sc_load_one(geam.shape.type, sum->beta);
    }
    return sc_gate_launch(SC_KERNEL_GEAM, handle->stream, &geam);
}

/* A column vector with a stride is the transpose of a matrix with one row. */
cublasStatus_t sc_outer_product(cublasHandle_t handle, const struct sc_outer_product *product)
{
    cublasStatus_t status = sc_handle_check(handle);
    if (status) return status;
    if (product->m < 0 || product->n < 0 || !product->incx || !product->incy ||
        !long_enough(product->lda, product->m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!product->m || !product->n) return CUBLAS_STATUS_SUCCESS;
    if (!product->alpha) return CUBLAS_STATUS_INVALID_VALUE;
    if (product->incx < 0 || product->incy < 0)
        return sc_not_supported("cublas ger", "a vector that runs backwards");
    uint8_t type;
    if (!sc_type_from_cuda(product->type, &type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    struct sc_gemm gemm = {
        .a = (uint64_t)product->x,
        .b = (uint64_t)product->y,
        .c = (uint64_t)product->a,
        .d = (uint64_t)product->a,
        .shape = {.m = product->m,
                  .n = product->n,
                  .k = 1,
                  .lda = product->incx,
                  .ldb = product->incy,
                  .ldc = product->lda,
                  .ldd = product->lda,
                  .beta = 1,
                  .batch = 1,
                  .type_a = type,
                  .type_b = type,
                  .type_c = type,
                  .type_d = type,
                  .scalar_type = type,
                  .transpose_a = true},
    };
    if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE)
        gemm.alpha = (uint64_t)product->alpha;
    else
        gemm.shape.alpha = sc_load_one(type, product->alpha);
    return sc_gate_launch(SC_KERNEL_GEMM, handle->stream, &gemm);
}
