#include "lt.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "refused.h"

#define VERSION 130000
#define ALGORITHM 0 /* the only one that is proposed */
#define LEVEL_ERROR 1

struct cublasLtContext {
    uint64_t magic; /* must be first */
};

static cublasLtLoggerCallback_t callback; /* atomic */
static size_t cache_capacity = 8192;      /* atomic; stored only: there is no cache */

cublasStatus_t sc_lt_check(cublasLtHandle_t handle)
{
    return handle && handle->magic == SC_HANDLE_MAGIC ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t sc_lt_not_supported(const char *function, const char *what)
{
    char text[200];
    snprintf(text, sizeof text, "%s: %s is not implemented", function, what);
    sc_gate_log(text);
    cublasLtLoggerCallback_t call = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);
    if (call) call(LEVEL_ERROR, function, text);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

int sc_refuse_function(const char *name)
{
    return (int)sc_lt_not_supported(name, "this function");
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    if (!out) return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = sc_gate_open();
    if (status) return status;
    cublasLtHandle_t handle = calloc(1, sizeof *handle);
    if (!handle) return CUBLAS_STATUS_ALLOC_FAILED;
    handle->magic = SC_HANDLE_MAGIC;
    *out = handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    cublasStatus_t status = sc_lt_check(handle);
    if (status) return status;
    handle->magic = 0;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
    return VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
    return CUDA_VERSION;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
    if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
    *value = type == MAJOR_VERSION ? VERSION / 10000 : 0;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    return sc_gate_status_name(status);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return sc_gate_status_text(status);
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *capacity)
{
    if (!capacity) return CUBLAS_STATUS_INVALID_VALUE;
    *capacity = __atomic_load_n(&cache_capacity, __ATOMIC_RELAXED);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
    __atomic_store_n(&cache_capacity, capacity, __ATOMIC_RELAXED);
    return CUBLAS_STATUS_SUCCESS;
}

/* 0: nothing was disabled before. */
unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask)
{
    (void)mask;
    return 0;
}

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t wanted)
{
    __atomic_store_n(&callback, wanted, __ATOMIC_RELEASE);
    return CUBLAS_STATUS_SUCCESS;
}

/* Only refusals are logged, at every level. */
cublasStatus_t cublasLtLoggerSetLevel(int level)
{
    return level < 0 || level > 5 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetMask(int mask)
{
    return mask < 0 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerForceDisable(void)
{
    return cublasLtLoggerSetCallback(NULL);
}

static bool describe(struct sc_lt_problem *on, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d)
{
    *on =
        (struct sc_lt_problem){(struct sc_lt_desc *)desc, (struct sc_lt_layout *)a, (struct sc_lt_layout *)b,
                               (struct sc_lt_layout *)c, (struct sc_lt_layout *)d};
    return desc && a && b && c && d;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    cublasStatus_t status = sc_lt_check(handle);
    if (status) return status;
    struct sc_lt_problem problem;
    if (!algo || !result || !describe(&problem, desc, a, b, c, d)) return CUBLAS_STATUS_INVALID_VALUE;
    struct sc_gemm_shape shape;
    bool swapped;
    const char *missing;
    status = sc_lt_plan(&problem, &shape, &swapped, &missing);
    memset(result, 0, sizeof *result);
    result->algo = *algo;
    result->state = status;
    result->wavesCount = 1;
    return status;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    if (found) *found = 0;
    cublasStatus_t status = sc_lt_check(handle);
    if (status) return status;
    struct sc_lt_problem problem;
    if (!preference || !results || !found || wanted <= 0 || !describe(&problem, desc, a, b, c, d))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct sc_gemm_shape shape;
    bool swapped;
    const char *missing;
    status = sc_lt_plan(&problem, &shape, &swapped, &missing);
    if (missing) return sc_lt_not_supported("cublasLtMatmulAlgoGetHeuristic", missing);
    if (status) return status;
    memset(results, 0, sizeof *results);
    sc_lt_algo_init(&results->algo, ALGORITHM);
    results->wavesCount = 1;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute,
                                        cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                        cudaDataType_t c, cudaDataType_t d, int wanted, int *ids, int *found)
{
    (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
    cublasStatus_t status = sc_lt_check(handle);
    if (status) return status;
    if (!ids || !found || wanted <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    ids[0] = ALGORITHM;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

/* Programs have numbers that they found on a GPU. */
cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute,
                                      cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                      cudaDataType_t c, cudaDataType_t d, int id, cublasLtMatmulAlgo_t *algo)
{
    (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
    cublasStatus_t status = sc_lt_check(handle);
    if (status) return status;
    if (!algo || id < 0) return CUBLAS_STATUS_INVALID_VALUE;
    sc_lt_algo_init(algo, id);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes,
                              struct CUstream_st *stream)
{
    (void)algo, (void)workspace,
        (void)workspace_bytes; /* all algorithms are the same, which needs no workspace */
    cublasStatus_t status = sc_lt_check(handle);
    if (status) return status;
    struct sc_lt_problem on;
    if (!alpha || !beta || !describe(&on, desc, a_layout, b_layout, c_layout, d_layout))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct sc_gemm gemm = {0};
    bool swapped;
    const char *missing;
    status = sc_lt_plan(&on, &gemm.shape, &swapped, &missing);
    if (missing) return sc_lt_not_supported("cublasLtMatmul", missing);
    if (status) return status;
    const struct sc_gemm_shape *shape = &gemm.shape;
    const uint32_t gradients = SC_EPILOGUE_BGRAD | SC_EPILOGUE_BGRADA | SC_EPILOGUE_BGRADB;
    const uint32_t with_aux = SC_EPILOGUE_AUX | SC_EPILOGUE_DRELU | SC_EPILOGUE_DGELU;
    if ((shape->epilogue & (SC_EPILOGUE_BIAS | gradients) && !on.desc->bias) ||
        (shape->epilogue & with_aux && !on.desc->aux))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!shape->m || !shape->n) return CUBLAS_STATUS_SUCCESS;
    gemm.a = (uint64_t)(swapped ? b : a);
    gemm.b = (uint64_t)(swapped ? a : b);
    gemm.c = (uint64_t)c;
    gemm.d = (uint64_t)d;
    gemm.bias = shape->epilogue & (SC_EPILOGUE_BIAS | gradients) ? on.desc->bias : 0;
    gemm.aux = shape->epilogue & with_aux ? on.desc->aux : 0;
    if (on.desc->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) {
        gemm.alpha = (uint64_t)alpha;
        gemm.beta = (uint64_t)beta;
    } else {
        gemm.shape.alpha = sc_load_one(shape->scalar_type, alpha);
        gemm.shape.beta = sc_load_one(shape->scalar_type, beta);
    }
    return sc_gate_launch(SC_KERNEL_GEMM, stream, &gemm);
}
