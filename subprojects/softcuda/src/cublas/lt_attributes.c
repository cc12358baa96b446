/* Descriptors: creation, destruction, and attributes by number. */
#include <stdlib.h>
#include <string.h>

#include "lt.h"

struct field {
    int attribute;
    uint16_t offset, bytes;
};

static const struct field layout_fields[] = {
#define ROW(attribute, name)                                                                                 \
    {                                                                                                        \
        attribute, offsetof(struct sc_lt_layout, name), sizeof(((struct sc_lt_layout *)0)->name)             \
    }
    ROW(CUBLASLT_MATRIX_LAYOUT_TYPE, type),
    ROW(CUBLASLT_MATRIX_LAYOUT_ORDER, order),
    ROW(CUBLASLT_MATRIX_LAYOUT_ROWS, rows),
    ROW(CUBLASLT_MATRIX_LAYOUT_COLS, columns),
    ROW(CUBLASLT_MATRIX_LAYOUT_LD, ld),
    ROW(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch),
    ROW(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride),
    ROW(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, plane),
    ROW(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, batch_mode),
    {0, 0, 0},
#undef ROW
};

static const struct field desc_fields[] = {
#define ROW(attribute, name)                                                                                 \
    {                                                                                                        \
        CUBLASLT_MATMUL_DESC_##attribute, offsetof(struct sc_lt_desc, name),                                 \
            sizeof(((struct sc_lt_desc *)0)->name)                                                           \
    }
    ROW(COMPUTE_TYPE, compute),
    ROW(SCALE_TYPE, scale_type),
    ROW(POINTER_MODE, pointer_mode),
    ROW(TRANSA, transa),
    ROW(TRANSB, transb),
    ROW(TRANSC, transc),
    ROW(FILL_MODE, fill),
    ROW(EPILOGUE, epilogue),
    ROW(BIAS_POINTER, bias),
    ROW(BIAS_BATCH_STRIDE, bias_stride),
    ROW(EPILOGUE_AUX_POINTER, aux),
    ROW(EPILOGUE_AUX_LD, aux_ld),
    ROW(EPILOGUE_AUX_BATCH_STRIDE, aux_stride),
    ROW(ALPHA_VECTOR_BATCH_STRIDE, alpha_stride),
    ROW(SM_COUNT_TARGET, processors),
    ROW(A_SCALE_POINTER, scales[0]),
    ROW(B_SCALE_POINTER, scales[1]),
    ROW(C_SCALE_POINTER, scales[2]),
    ROW(D_SCALE_POINTER, scales[3]),
    ROW(AMAX_D_POINTER, scales[4]),
    ROW(EPILOGUE_AUX_DATA_TYPE, aux_type),
    ROW(EPILOGUE_AUX_SCALE_POINTER, scales[5]),
    ROW(EPILOGUE_AUX_AMAX_POINTER, scales[6]),
    ROW(FAST_ACCUM, fast_accumulation),
    ROW(BIAS_DATA_TYPE, bias_type),
    ROW(A_SCALE_MODE, scale_modes[0]),
    ROW(B_SCALE_MODE, scale_modes[1]),
    ROW(C_SCALE_MODE, scale_modes[2]),
    ROW(D_SCALE_MODE, scale_modes[3]),
    ROW(EPILOGUE_AUX_SCALE_MODE, scale_modes[4]),
    ROW(D_OUT_SCALE_POINTER, scales[7]),
    ROW(D_OUT_SCALE_MODE, scale_modes[5]),
    ROW(EMULATION_DESCRIPTOR, emulation),
    {0, 0, 0},
#undef ROW
};

static const struct field preference_fields[] = {
#define ROW(attribute, name)                                                                                 \
    {                                                                                                        \
        CUBLASLT_MATMUL_PREF_##attribute, offsetof(struct sc_lt_preference, name),                           \
            sizeof(((struct sc_lt_preference *)0)->name)                                                     \
    }
    ROW(SEARCH_MODE, search_mode),
    ROW(MAX_WORKSPACE_BYTES, workspace_bytes),
    ROW(REDUCTION_SCHEME_MASK, reduction_mask),
    ROW(MIN_ALIGNMENT_A_BYTES, alignments[0]),
    ROW(MIN_ALIGNMENT_B_BYTES, alignments[1]),
    ROW(MIN_ALIGNMENT_C_BYTES, alignments[2]),
    ROW(MIN_ALIGNMENT_D_BYTES, alignments[3]),
    ROW(MAX_WAVES_COUNT, waves),
    ROW(IMPL_MASK, implementations),
    {0, 0, 0},
#undef ROW
};

/* Without the number, which cannot be set */
static const struct field algo_fields[] = {
#define ROW(attribute, name)                                                                                 \
    {                                                                                                        \
        CUBLASLT_ALGO_CONFIG_##attribute, offsetof(struct sc_lt_algo, name),                                 \
            sizeof(((struct sc_lt_algo *)0)->name)                                                           \
    }
    ROW(TILE_ID, tile),
    ROW(SPLITK_NUM, splits),
    ROW(REDUCTION_SCHEME, reduction),
    ROW(CTA_SWIZZLING, swizzling),
    ROW(CUSTOM_OPTION, option),
    ROW(STAGES_ID, stages),
    ROW(INNER_SHAPE_ID, inner_shape),
    ROW(CLUSTER_SHAPE_ID, cluster_shape),
    {0, 0, 0},
#undef ROW
};

static const struct field algo_id[] = {
    {CUBLASLT_ALGO_CONFIG_ID, offsetof(struct sc_lt_algo, id), sizeof(int32_t)}, {0, 0, 0}};

static const struct field *find(const struct field *fields, int attribute)
{
    for (; fields->bytes; fields++)
        if (fields->attribute == attribute) return fields;
    return NULL;
}

static cublasStatus_t set(void *object, const struct field *fields, int attribute, const void *from,
                          size_t bytes)
{
    const struct field *field = find(fields, attribute);
    if (!object || !from || !field || bytes != field->bytes) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)object + field->offset, from, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* With `bytes` 0, only returns the size. */
static cublasStatus_t get(const void *object, const struct field *fields, int attribute, void *to,
                          size_t bytes, size_t *written)
{
    const struct field *field = find(fields, attribute);
    if (!object || !field || (!bytes && !written) || (bytes && !to) || (bytes && bytes < field->bytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (bytes) memcpy(to, (const char *)object + field->offset, field->bytes);
    if (written) *written = field->bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t bytes,
                                                 cudaDataType type, uint64_t rows, uint64_t columns,
                                                 int64_t ld)
{
    if (!layout || bytes < sizeof *layout) return CUBLAS_STATUS_INVALID_VALUE;
    memset(layout, 0, sizeof *layout);
    *(struct sc_lt_layout *)layout = (struct sc_lt_layout){.type = (int32_t)type,
                                                           .order = CUBLASLT_ORDER_COL,
                                                           .rows = rows,
                                                           .columns = columns,
                                                           .ld = ld,
                                                           .batch = 1};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld)
{
    if (!out) return CUBLAS_STATUS_INVALID_VALUE;
    cublasLtMatrixLayout_t layout = malloc(sizeof *layout);
    if (!layout) return CUBLAS_STATUS_ALLOC_FAILED;
    *out = layout;
    return cublasLtMatrixLayoutInit_internal(layout, sizeof *layout, type, rows, columns, ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *from,
                                                size_t bytes)
{
    return set(layout, layout_fields, (int)attribute, from, bytes);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void *to,
                                                size_t bytes, size_t *written)
{
    return get(layout, layout_fields, (int)attribute, to, bytes, written);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t bytes,
                                               cublasComputeType_t compute, cudaDataType_t scale)
{
    if (!desc || bytes < sizeof *desc) return CUBLAS_STATUS_INVALID_VALUE;
    memset(desc, 0, sizeof *desc);
    *(struct sc_lt_desc *)desc = (struct sc_lt_desc){.compute = (int32_t)compute,
                                                     .scale_type = (int32_t)scale,
                                                     .fill = 2, /* the full matrix */
                                                     .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                                                     .bias_type = -1,
                                                     .aux_type = -1};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    if (!out) return CUBLAS_STATUS_INVALID_VALUE;
    cublasLtMatmulDesc_t desc = malloc(sizeof *desc);
    if (!desc) return CUBLAS_STATUS_ALLOC_FAILED;
    *out = desc;
    return cublasLtMatmulDescInit_internal(desc, sizeof *desc, compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute, const void *from,
                                              size_t bytes)
{
    return set(desc, desc_fields, (int)attribute, from, bytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute, void *to,
                                              size_t bytes, size_t *written)
{
    return get(desc, desc_fields, (int)attribute, to, bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t bytes)
{
    if (!preference || bytes < sizeof *preference) return CUBLAS_STATUS_INVALID_VALUE;
    memset(preference, 0, sizeof *preference);
    *(struct sc_lt_preference *)preference = (struct sc_lt_preference){
        .reduction_mask = 7, .alignments = {256, 256, 256, 256}, .implementations = UINT64_MAX};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    if (!out) return CUBLAS_STATUS_INVALID_VALUE;
    cublasLtMatmulPreference_t preference = malloc(sizeof *preference);
    if (!preference) return CUBLAS_STATUS_ALLOC_FAILED;
    *out = preference;
    return cublasLtMatmulPreferenceInit_internal(preference, sizeof *preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *from, size_t bytes)
{
    return set(preference, preference_fields, (int)attribute, from, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, void *to,
                                                    size_t bytes, size_t *written)
{
    return get(preference, preference_fields, (int)attribute, to, bytes, written);
}

void sc_lt_algo_init(cublasLtMatmulAlgo_t *algo, int id)
{
    memset(algo, 0, sizeof *algo);
    *(struct sc_lt_algo *)algo = (struct sc_lt_algo){.id = id, .splits = 1};
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    const void *from, size_t bytes)
{
    return set(algo, algo_fields, (int)attribute, from, bytes);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void *to,
                                                    size_t bytes, size_t *written)
{
    const struct field *fields = attribute == CUBLASLT_ALGO_CONFIG_ID ? algo_id : algo_fields;
    return get(algo, fields, (int)attribute, to, bytes, written);
}
