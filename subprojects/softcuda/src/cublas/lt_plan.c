/* Converts descriptors to the shape of the kernel's product. */
#include "lt.h"
#include "rate.h"

static bool is_transposed(int32_t operation)
{
    return operation != CUBLAS_OP_N;
}

/* The sizes of op(X). */
static uint64_t rows_of(const struct sc_lt_layout *layout, int32_t operation)
{
    return is_transposed(operation) ? layout->columns : layout->rows;
}

static uint64_t columns_of(const struct sc_lt_layout *layout, int32_t operation)
{
    return is_transposed(operation) ? layout->rows : layout->columns;
}

static bool is_row_major(const struct sc_lt_layout *layout)
{
    return layout->order == CUBLASLT_ORDER_ROW;
}

static bool layout_is_valid(const struct sc_lt_layout *layout)
{
    uint64_t length = is_row_major(layout) ? layout->columns : layout->rows;
    return layout->ld >= (int64_t)(length ? length : 1) && layout->batch >= 1;
}

static bool sizes_match(const struct sc_lt_problem *on)
{
    const struct sc_lt_desc *desc = on->desc;
    uint64_t m = on->d->rows, n = on->d->columns, k = columns_of(on->a, desc->transa);
    return layout_is_valid(on->a) && layout_is_valid(on->b) && layout_is_valid(on->c) &&
           layout_is_valid(on->d) && on->c->rows == m && on->c->columns == n &&
           rows_of(on->a, desc->transa) == m && rows_of(on->b, desc->transb) == k &&
           columns_of(on->b, desc->transb) == n && on->a->batch == on->d->batch &&
           on->b->batch == on->d->batch && on->c->batch == on->d->batch;
}

static bool scalar_type(const struct sc_lt_desc *desc, uint8_t *type)
{
    switch ((cublasComputeType_t)desc->compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        *type = SC_F16;
        return desc->scale_type == CUDA_R_16F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
        *type = SC_F32;
        return desc->scale_type == CUDA_R_32F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
        *type = SC_F64;
        return desc->scale_type == CUDA_R_64F;
    default:
        return false;
    }
}

static bool types_match(const struct sc_lt_problem *on, struct sc_gemm_shape *shape)
{
    const struct sc_lt_desc *desc = on->desc;
    if (!scalar_type(desc, &shape->scalar_type) || !sc_type_from_cuda(on->a->type, &shape->type_a) ||
        !sc_type_from_cuda(on->b->type, &shape->type_b) || !sc_type_from_cuda(on->c->type, &shape->type_c) ||
        !sc_type_from_cuda(on->d->type, &shape->type_d))
        return false;
    int32_t bias = desc->bias_type < 0 ? on->d->type : desc->bias_type;
    int32_t aux = desc->aux_type < 0 ? on->d->type : desc->aux_type;
    if (!sc_type_from_cuda(bias, &shape->bias_type) || !sc_type_from_cuda(aux, &shape->aux_type))
        return false;
    if (shape->type_a != shape->type_b || shape->type_c != shape->type_d) return false;
    shape->rate = sc_rate_of_product(shape->type_a, (cublasComputeType_t)desc->compute, false);
    bool same = shape->type_a == shape->type_d;
    if (shape->scalar_type == SC_F32)
        return shape->type_a != SC_F64 && shape->bias_type != SC_F64 && shape->aux_type != SC_F64 &&
               (same || shape->type_d == SC_F32);
    return same && shape->type_a == shape->scalar_type;
}

static bool epilogue_of(uint32_t wanted, uint32_t *steps)
{
    static const struct {
        uint32_t name, steps;
    } known[] = {
        {CUBLASLT_EPILOGUE_DEFAULT, 0},
        {CUBLASLT_EPILOGUE_RELU, SC_EPILOGUE_RELU},
        {CUBLASLT_EPILOGUE_RELU_AUX, SC_EPILOGUE_RELU | SC_EPILOGUE_AUX},
        {CUBLASLT_EPILOGUE_BIAS, SC_EPILOGUE_BIAS},
        {CUBLASLT_EPILOGUE_RELU_BIAS, SC_EPILOGUE_RELU | SC_EPILOGUE_BIAS},
        {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, SC_EPILOGUE_RELU | SC_EPILOGUE_AUX | SC_EPILOGUE_BIAS},
        {CUBLASLT_EPILOGUE_DRELU, SC_EPILOGUE_DRELU},
        {CUBLASLT_EPILOGUE_DRELU_BGRAD, SC_EPILOGUE_DRELU | SC_EPILOGUE_BGRAD},
        {CUBLASLT_EPILOGUE_GELU, SC_EPILOGUE_GELU},
        {CUBLASLT_EPILOGUE_GELU_AUX, SC_EPILOGUE_GELU | SC_EPILOGUE_AUX},
        {CUBLASLT_EPILOGUE_GELU_BIAS, SC_EPILOGUE_GELU | SC_EPILOGUE_BIAS},
        {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, SC_EPILOGUE_GELU | SC_EPILOGUE_AUX | SC_EPILOGUE_BIAS},
        {CUBLASLT_EPILOGUE_DGELU, SC_EPILOGUE_DGELU},
        {CUBLASLT_EPILOGUE_DGELU_BGRAD, SC_EPILOGUE_DGELU | SC_EPILOGUE_BGRAD},
        {CUBLASLT_EPILOGUE_BGRADA, SC_EPILOGUE_BGRADA},
        {CUBLASLT_EPILOGUE_BGRADB, SC_EPILOGUE_BGRADB},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].name == wanted) {
            *steps = known[i].steps;
            return true;
        }
    return false;
}

static const char *what_is_missing(const struct sc_lt_problem *on, struct sc_gemm_shape *shape)
{
    const struct sc_lt_desc *desc = on->desc;
    const struct sc_lt_layout *layouts[] = {on->a, on->b, on->c, on->d};
    for (int i = 0; i < 4; i++) {
        if (layouts[i]->order != CUBLASLT_ORDER_COL && layouts[i]->order != CUBLASLT_ORDER_ROW)
            return "an order of elements";
        if (layouts[i]->batch_mode != CUBLASLT_BATCH_MODE_STRIDED || layouts[i]->plane)
            return "a batch that is not strided";
    }
    for (size_t i = 0; i < sizeof desc->scales / sizeof *desc->scales; i++)
        if (desc->scales[i]) return "a scale of a narrow type";
    if (desc->transc != CUBLAS_OP_N || desc->fill != 2 || on->c->order != on->d->order) return "a form of C";
    if (desc->pointer_mode != CUBLASLT_POINTER_MODE_HOST &&
        desc->pointer_mode != CUBLASLT_POINTER_MODE_DEVICE)
        return "a pointer mode with vectors";
    if (!types_match(on, shape)) return "this combination of types";
    if (!epilogue_of(desc->epilogue, &shape->epilogue)) return "this epilogue";
    if (shape->epilogue && shape->type_d == SC_F64) return "an epilogue in double precision";
    if (shape->epilogue & SC_EPILOGUE_BGRAD && is_row_major(on->d)) return "this epilogue in row order";
    return NULL;
}

/* A row-major product equals the product of the transposed factors in reverse order. */
static void swap_factors(struct sc_gemm_shape *shape)
{
    struct sc_gemm_shape old = *shape;
    shape->m = old.n;
    shape->n = old.m;
    shape->lda = old.ldb;
    shape->ldb = old.lda;
    shape->stride_a = old.stride_b;
    shape->stride_b = old.stride_a;
    shape->type_a = old.type_b;
    shape->type_b = old.type_a;
    shape->transpose_a = !old.transpose_b;
    shape->transpose_b = !old.transpose_a;
    shape->bias_along_columns = true;
    const uint32_t both = SC_EPILOGUE_BGRADA | SC_EPILOGUE_BGRADB;
    if (shape->epilogue & both) shape->epilogue ^= both;
}

cublasStatus_t sc_lt_plan(const struct sc_lt_problem *on, struct sc_gemm_shape *shape, bool *swapped,
                          const char **missing)
{
    const struct sc_lt_desc *desc = on->desc;
    *missing = NULL;
    if (!sizes_match(on)) return CUBLAS_STATUS_INVALID_VALUE;
    *shape = (struct sc_gemm_shape){
        .m = (int64_t)on->d->rows,
        .n = (int64_t)on->d->columns,
        .k = (int64_t)columns_of(on->a, desc->transa),
        .lda = on->a->ld,
        .ldb = on->b->ld,
        .ldc = on->c->ld,
        .ldd = on->d->ld,
        .stride_a = on->a->stride,
        .stride_b = on->b->stride,
        .stride_c = on->c->stride,
        .stride_d = on->d->stride,
        .bias_stride = desc->bias_stride,
        .aux_ld = desc->aux_ld,
        .aux_stride = desc->aux_stride,
        .batch = (uint32_t)on->d->batch,
        .transpose_a = is_transposed(desc->transa) != is_row_major(on->a),
        .transpose_b = is_transposed(desc->transb) != is_row_major(on->b),
    };
    *missing = what_is_missing(on, shape);
    if (*missing) return CUBLAS_STATUS_NOT_SUPPORTED;
    *swapped = is_row_major(on->d);
    if (*swapped) swap_factors(shape);
    const uint32_t with_aux = SC_EPILOGUE_AUX | SC_EPILOGUE_DRELU | SC_EPILOGUE_DGELU;
    bool bits = shape->epilogue & (SC_EPILOGUE_RELU | SC_EPILOGUE_DRELU);
    if (shape->epilogue & with_aux && (shape->aux_ld < shape->m || (bits && shape->aux_ld % 8)))
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}
