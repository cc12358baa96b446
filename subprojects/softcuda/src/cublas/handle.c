#include "handle.h"

#include <stdio.h>
#include <stdlib.h>

#include "refused.h"

#define VERSION 130000

static cublasLogCallback callback; /* atomic */

cublasStatus_t sc_handle_check(cublasHandle_t handle)
{
    return handle && handle->magic == SC_HANDLE_MAGIC ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

static void tell(const char *text)
{
    sc_gate_log(text);
    cublasLogCallback call = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);
    if (call) call(text);
}

cublasStatus_t sc_not_supported(const char *function, const char *what)
{
    char text[200];
    snprintf(text, sizeof text, "%s: %s is not implemented", function, what);
    tell(text);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

int sc_refuse_function(const char *name)
{
    char text[200];
    snprintf(text, sizeof text, "%s: not implemented", name);
    tell(text);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
    if (!out) return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = sc_gate_open();
    if (status) return status;
    cublasHandle_t handle = calloc(1, sizeof *handle);
    if (!handle) return CUBLAS_STATUS_ALLOC_FAILED;
    handle->magic = SC_HANDLE_MAGIC;
    pthread_mutex_init(&handle->lock, NULL);
    *out = handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    cublasStatus_t status = sc_handle_check(handle);
    if (status) return status;
    handle->magic = 0;
    sc_gate_free(handle->result);
    pthread_mutex_destroy(&handle->lock);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle; /* NULL is allowed, as in the vendor's library */
    if (!version) return CUBLAS_STATUS_INVALID_VALUE;
    *version = VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
    *value = type == MAJOR_VERSION ? VERSION / 10000 : 0;
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion(void)
{
    return CUDA_VERSION;
}

/* No kernel here needs a workspace. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)workspace, (void)bytes;
    return sc_handle_check(handle);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, struct CUstream_st *stream)
{
    cublasStatus_t status = sc_handle_check(handle);
    if (!status) handle->stream = stream;
    return status;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, struct CUstream_st **stream)
{
    cublasStatus_t status = sc_handle_check(handle);
    if (!status && !stream) status = CUBLAS_STATUS_INVALID_VALUE;
    if (!status) *stream = handle->stream;
    return status;
}

/* Defines cublasGetX and cublasSetX for a field. */
#define MODE(get, set, type, field, valid)                                                                   \
    cublasStatus_t get(cublasHandle_t handle, type *value)                                                   \
    {                                                                                                        \
        cublasStatus_t status = sc_handle_check(handle);                                                     \
        if (!status && !value) status = CUBLAS_STATUS_INVALID_VALUE;                                         \
        if (!status) *value = handle->field;                                                                 \
        return status;                                                                                       \
    }                                                                                                        \
    cublasStatus_t set(cublasHandle_t handle, type value)                                                    \
    {                                                                                                        \
        cublasStatus_t status = sc_handle_check(handle);                                                     \
        if (!status && !(valid)) status = CUBLAS_STATUS_INVALID_VALUE;                                       \
        if (!status) handle->field = value;                                                                  \
        return status;                                                                                       \
    }

MODE(cublasGetPointerMode_v2, cublasSetPointerMode_v2, cublasPointerMode_t, pointer_mode,
     value == CUBLAS_POINTER_MODE_HOST || value == CUBLAS_POINTER_MODE_DEVICE)
MODE(cublasGetAtomicsMode, cublasSetAtomicsMode, cublasAtomicsMode_t, atomics,
     value == CUBLAS_ATOMICS_NOT_ALLOWED || value == CUBLAS_ATOMICS_ALLOWED)
/* Products are at least as precise as every mode requires. */
MODE(cublasGetMathMode, cublasSetMathMode, cublasMath_t, math,
     ((int)value & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) <= CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH)
MODE(cublasGetSmCountTarget, cublasSetSmCountTarget, int, processors, value >= 0)

const char *cublasGetStatusName(cublasStatus_t status)
{
    return sc_gate_status_name(status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return sc_gate_status_text(status);
}

/* Messages always go to softcuda's log. */
cublasStatus_t cublasLoggerConfigure(int on, int to_output, int to_error, const char *file)
{
    (void)to_output, (void)to_error, (void)file;
    return on ? sc_not_supported("cublasLoggerConfigure", "a log of calls") : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback wanted)
{
    __atomic_store_n(&callback, wanted, __ATOMIC_RELEASE);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetLoggerCallback(cublasLogCallback *out)
{
    if (!out) return CUBLAS_STATUS_INVALID_VALUE;
    *out = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);
    return CUBLAS_STATUS_SUCCESS;
}

void cublasXerbla(const char *function, int argument)
{
    char text[200];
    snprintf(text, sizeof text, "%s: argument %d is not valid", function ? function : "cuBLAS", argument);
    tell(text);
}
