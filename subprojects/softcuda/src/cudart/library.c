/* Libraries that the program loads itself, driver entry points, profiler control, and export tables. */
#include "state.h"

/* The runtime reports a missing kernel as an invalid function. */
static cudaError_t library_kernel(const struct sc_driver *driver, cudaKernel_t *out, cudaLibrary_t library,
                                  const char *name)
{
    const cudaError_t status = CALL(cuLibraryGetKernel, out, library, name);
    return status == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : status;
}

/* The options of both kinds have the driver's names, or are unknown to this driver. */
SC_API(cudaLibraryLoadData,
       (cudaLibrary_t * library, const void *code, enum cudaJitOption *jit, void **jit_values,
        unsigned int jit_count, enum cudaLibraryOption *options, void **option_values,
        unsigned int option_count),
       CALL(cuLibraryLoadData, library, code, (CUjit_option *)jit, jit_values, jit_count,
            (CUlibraryOption *)options, option_values, option_count))
SC_API(cudaLibraryLoadFromFile,
       (cudaLibrary_t * library, const char *file, enum cudaJitOption *jit, void **jit_values,
        unsigned int jit_count, enum cudaLibraryOption *options, void **option_values,
        unsigned int option_count),
       CALL(cuLibraryLoadFromFile, library, file, (CUjit_option *)jit, jit_values, jit_count,
            (CUlibraryOption *)options, option_values, option_count))
SC_API(cudaLibraryUnload, (cudaLibrary_t library), CALL(cuLibraryUnload, library))
SC_API(cudaLibraryGetKernel, (cudaKernel_t * kernel, cudaLibrary_t library, const char *name),
       library_kernel(driver, kernel, library, name))
SC_API(cudaLibraryGetKernelCount, (unsigned int *count, cudaLibrary_t library),
       CALL(cuLibraryGetKernelCount, count, library))
SC_API(cudaLibraryEnumerateKernels, (cudaKernel_t * kernels, unsigned int count, cudaLibrary_t library),
       CALL(cuLibraryEnumerateKernels, kernels, count, library))
SC_API(cudaLibraryGetGlobal, (void **address, size_t *bytes, cudaLibrary_t library, const char *name),
       CALL(cuLibraryGetGlobal, (CUdeviceptr *)address, bytes, library, name))
SC_API(cudaLibraryGetManaged, (void **address, size_t *bytes, cudaLibrary_t library, const char *name),
       CALL(cuLibraryGetManaged, (CUdeviceptr *)address, bytes, library, name))
SC_API(cudaLibraryGetUnifiedFunction, (void **function, cudaLibrary_t library, const char *name),
       CALL(cuLibraryGetUnifiedFunction, function, library, name))

/* Does not initialise the driver: frameworks look up functions when they are imported, before they fork. */
static cudaError_t entry_point(const char *name, void **function, unsigned version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *result, bool per_thread)
{
    if (!name || !function) return cudaErrorInvalidValue;
    PFN_cuGetProcAddress_v12000 resolver = sc_driver_resolver();
    if (!resolver) return cudaErrorInsufficientDriver;
    if (flags == cudaEnableDefault && per_thread) flags = cudaEnablePerThreadDefaultStream;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    void *got = NULL;
    const CUresult status = resolver(name, &got, (int)version, flags, &found);
    if (result) *result = (enum cudaDriverEntryPointQueryResult)found;
    *function = status == CUDA_SUCCESS ? got : NULL;
    /* If the caller has a variable for the query result, an unknown name is not an error. */
    if (status == CUDA_ERROR_NOT_FOUND) return result ? cudaSuccess : cudaErrorSymbolNotFound;
    return sc_error_from_driver(status);
}

#define ENTRY_POINT_API(suffix, per_thread)                                                                  \
    SC_EXPORT cudaError_t cudaGetDriverEntryPoint##suffix(const char *name, void **function,                 \
                                                          unsigned long long flags,                          \
                                                          enum cudaDriverEntryPointQueryResult *result);     \
    SC_EXPORT cudaError_t cudaGetDriverEntryPoint##suffix(const char *name, void **function,                 \
                                                          unsigned long long flags,                          \
                                                          enum cudaDriverEntryPointQueryResult *result)      \
    {                                                                                                        \
        return sc_finish(entry_point(name, function, SC_RUNTIME_VERSION, flags, result, per_thread));        \
    }                                                                                                        \
    SC_EXPORT cudaError_t cudaGetDriverEntryPointByVersion##suffix(                                          \
        const char *name, void **function, unsigned int version, unsigned long long flags,                   \
        enum cudaDriverEntryPointQueryResult *result);                                                       \
    SC_EXPORT cudaError_t cudaGetDriverEntryPointByVersion##suffix(                                          \
        const char *name, void **function, unsigned int version, unsigned long long flags,                   \
        enum cudaDriverEntryPointQueryResult *result)                                                        \
    {                                                                                                        \
        return sc_finish(entry_point(name, function, version, flags, result, per_thread));                   \
    }
ENTRY_POINT_API(, false)
ENTRY_POINT_API(_ptsz, true)

/* There is no profiler, so these calls do nothing. */
SC_API(cudaProfilerStart, (void), ((void)driver, cudaSuccess))
SC_API(cudaProfilerStop, (void), ((void)driver, cudaSuccess))

SC_DEVICE_API(cudaGetExportTable, (const void **table, const cudaUUID_t *id),
              CALL(cuGetExportTable, table, (const CUuuid *)id))

SC_EXPORT struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                             enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
