#include "gate.h"

#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "driver/log.h"
#include "gemm.h"
#include "vector.h"

static const struct sc_native_kernel *const kernels[SC_KERNELS] = {
    [SC_KERNEL_GEMM] = &sc_gemm_kernel,
    [SC_KERNEL_VECTOR] = &sc_vector_kernel,
    [SC_KERNEL_GEMV] = &sc_gemv_kernel,
    [SC_KERNEL_GEAM] = &sc_geam_kernel,
};

#define MOST_PARAMETERS 16

#define DRIVER(X)                                                                                            \
    X(cuInit, 2000)                                                                                          \
    X(cuGetExportTable, 3000)                                                                                \
    X(cuLibraryLoadData, 12000)                                                                              \
    X(cuLibraryGetKernel, 12000)                                                                             \
    X(cuDeviceGet, 2000)                                                                                     \
    X(cuDevicePrimaryCtxRetain, 7000)                                                                        \
    X(cuCtxGetCurrent, 4000)                                                                                 \
    X(cuCtxSetCurrent, 4000)                                                                                 \
    X(cuLaunchKernel, 4000)                                                                                  \
    X(cuMemHostAlloc, 2020)                                                                                  \
    X(cuMemFreeHost, 2000)                                                                                   \
    X(cuStreamSynchronize, 2000)                                                                             \
    X(cuMemcpy2DUnaligned, 3020)                                                                             \
    X(cuMemcpy2DAsync, 3020)

static struct {
#define FIELD(name, version) PFN_##name##_v##version name;
    DRIVER(FIELD)
#undef FIELD
} driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cublasStatus_t opened;
static CUkernel handles[SC_KERNELS];
static struct sc_native_kernel image_kernels[SC_KERNELS];
static struct sc_native_image image = {SC_NATIVE_MAGIC, image_kernels, SC_KERNELS};

static cublasStatus_t status_of(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUBLAS_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_CONTEXT:
        return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

static bool find_functions(PFN_cuGetProcAddress_v12000 resolve)
{
    bool all = true;
    CUdriverProcAddressQueryResult found;
    void *function;
    /* The name is passed as text, because cuda.h defines some names as macros. */
#define FIND(name, version)                                                                                  \
    function = NULL;                                                                                         \
    if (resolve(#name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &found) != CUDA_SUCCESS)             \
        function = NULL;                                                                                     \
    all = all && function;                                                                                   \
    memcpy(&driver.name, &function, sizeof function);
    DRIVER(FIND)
#undef FIND
    return all;
}

static cublasStatus_t load_kernels(void)
{
    CUuuid id = {.bytes = SC_NATIVE_TABLE_ID};
    const void *table = NULL;
    if (driver.cuGetExportTable(&table, &id) != CUDA_SUCCESS || !table) {
        sc_log("cuBLAS: this is softcuda's, which runs on softcuda's driver only");
        return CUBLAS_STATUS_ARCH_MISMATCH;
    }
    for (int i = 0; i < SC_KERNELS; i++) image_kernels[i] = *kernels[i];
    if (!((const struct sc_native_table *)table)->trust(&image)) return CUBLAS_STATUS_INTERNAL_ERROR;
    CUlibrary library;
    CUresult result = driver.cuLibraryLoadData(&library, &image, NULL, NULL, 0, NULL, NULL, 0);
    for (int i = 0; i < SC_KERNELS && !result; i++)
        result = driver.cuLibraryGetKernel(&handles[i], library, image_kernels[i].name);
    return status_of(result);
}

static void open_driver(void)
{
    opened = CUBLAS_STATUS_NOT_INITIALIZED;
    /* Never closed: other threads may execute in it until the process ends. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    PFN_cuGetProcAddress_v12000 resolve;
    memcpy(&resolve, &found, sizeof resolve);
    if (!resolve || !find_functions(resolve)) {
        sc_log("cuBLAS: no driver from 12.0 on");
        return;
    }
    opened = status_of(driver.cuInit(0));
    if (!opened) opened = load_kernels();
}

cublasStatus_t sc_gate_open(void)
{
    pthread_once(&once, open_driver);
    if (opened) return opened;
    CUcontext context = NULL;
    CUresult result = driver.cuCtxGetCurrent(&context);
    CUdevice device;
    if (!result && !context) {
        result = driver.cuDeviceGet(&device, 0);
        if (!result) result = driver.cuDevicePrimaryCtxRetain(&context, device);
        if (!result) result = driver.cuCtxSetCurrent(context);
    }
    return status_of(result);
}

cublasStatus_t sc_gate_launch(enum sc_blas_kernel kernel, CUstream stream, const void *parameters)
{
    const struct sc_native_kernel *native = kernels[kernel];
    void *pointers[MOST_PARAMETERS];
    for (uint32_t i = 0; i < native->parameter_count; i++)
        pointers[i] = (char *)parameters + native->parameters[i].offset_bytes;
    CUfunction function = (CUfunction)handles[kernel];
    CUresult result = driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, pointers, NULL);
    /* A new thread of a program that uses the Runtime API has no context yet. */
    if (result == CUDA_ERROR_INVALID_CONTEXT && !sc_gate_open())
        result = driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, pointers, NULL);
    return status_of(result);
}

cublasStatus_t sc_gate_allocate(void **memory, size_t bytes)
{
    return status_of(
        driver.cuMemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
}

void sc_gate_free(void *memory)
{
    if (memory) driver.cuMemFreeHost(memory);
}

cublasStatus_t sc_gate_synchronize(CUstream stream)
{
    return status_of(driver.cuStreamSynchronize(stream));
}

cublasStatus_t sc_gate_copy(const CUDA_MEMCPY2D *copy, bool asynchronous, CUstream stream)
{
    CUresult result = asynchronous ? driver.cuMemcpy2DAsync(copy, stream) : driver.cuMemcpy2DUnaligned(copy);
    return result ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}

void sc_gate_log(const char *text)
{
    sc_log("%s", text);
}
