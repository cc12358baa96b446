/* The Driver API by dlopen: the probe runs wherever there is a libcuda.so.1, and is built where there is
 * none.
 *
 * `cu.cuMemAlloc` is the version that cuda.h means by that name: its macros rename the field, the type and
 * the symbol alike. A REQUIRED function that the driver lacks ends the probe; an OPTIONAL one is NULL then.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include <stdbool.h>
#include <cuda.h>

#define REQUIRED_FUNCTIONS(X)                                                                                \
    X(cuInit)                                                                                                \
    X(cuDriverGetVersion)                                                                                    \
    X(cuGetErrorName)                                                                                        \
    X(cuDeviceGet)                                                                                           \
    X(cuDeviceGetName)                                                                                       \
    X(cuDeviceGetAttribute)                                                                                  \
    X(cuDevicePrimaryCtxRetain)                                                                              \
    X(cuDevicePrimaryCtxRelease)                                                                             \
    X(cuCtxSetCurrent)                                                                                       \
    X(cuCtxSynchronize)                                                                                      \
    X(cuModuleLoadData)                                                                                      \
    X(cuModuleGetFunction)                                                                                   \
    X(cuFuncGetParamInfo)                                                                                    \
    X(cuLaunchKernel)                                                                                        \
    X(cuMemGetInfo)                                                                                          \
    X(cuMemAlloc)                                                                                            \
    X(cuMemAllocManaged)                                                                                     \
    X(cuMemFree)                                                                                             \
    X(cuMemHostAlloc)                                                                                        \
    X(cuMemFreeHost)                                                                                         \
    X(cuMemHostGetDevicePointer)                                                                             \
    X(cuMemcpyHtoDAsync)                                                                                     \
    X(cuMemcpyDtoHAsync)                                                                                     \
    X(cuMemsetD32Async)                                                                                      \
    X(cuMemAdvise)                                                                                           \
    X(cuMemPrefetchAsync)                                                                                    \
    X(cuMemRangeGetAttribute)                                                                                \
    X(cuStreamCreate)                                                                                        \
    X(cuStreamDestroy)                                                                                       \
    X(cuStreamSynchronize)                                                                                   \
    X(cuStreamQuery)                                                                                         \
    X(cuStreamWaitEvent)                                                                                     \
    X(cuEventCreate)                                                                                         \
    X(cuEventDestroy)                                                                                        \
    X(cuEventRecord)                                                                                         \
    X(cuEventQuery)                                                                                          \
    X(cuEventSynchronize)                                                                                    \
    X(cuEventElapsedTime)                                                                                    \
    X(cuLaunchHostFunc)                                                                                      \
    X(cuModuleUnload)                                                                                        \
    X(cuDeviceGetPCIBusId)

#define OPTIONAL_FUNCTIONS(X)                                                                                \
    X(cuMemcpy)                                                                                              \
    X(cuMemcpyAsync)                                                                                         \
    X(cuMemcpyHtoD)                                                                                          \
    X(cuMemcpyDtoH)                                                                                          \
    X(cuMemcpyDtoD)                                                                                          \
    X(cuMemcpyDtoDAsync)                                                                                     \
    X(cuMemHostRegister)                                                                                     \
    X(cuMemHostUnregister)                                                                                   \
    X(cuMemCreate)                                                                                           \
    X(cuMemRelease)                                                                                          \
    X(cuMemAddressReserve)                                                                                   \
    X(cuMemAddressFree)                                                                                      \
    X(cuMemMap)                                                                                              \
    X(cuMemUnmap)                                                                                            \
    X(cuMemSetAccess)                                                                                        \
    X(cuMemGetAllocationGranularity)                                                                         \
    X(cuTensorMapEncodeTiled)                                                                                \
    X(cuMemDiscardBatchAsync)                                                                                \
    X(cuMemDiscardAndPrefetchBatchAsync)                                                                     \
    X(cuMemAllocAsync)                                                                                       \
    X(cuMemFreeAsync)                                                                                        \
    X(cuLibraryLoadData)                                                                                     \
    X(cuLibraryGetKernel)                                                                                    \
    X(cuKernelGetFunction)                                                                                   \
    X(cuKernelGetName)                                                                                       \
    X(cuKernelGetParamInfo)                                                                                  \
    X(cuKernelGetLibrary)                                                                                    \
    X(cuFuncGetName)                                                                                         \
    X(cuFuncGetModule)

struct driver {
#define FIELD(name) __typeof__(name) *name;
    REQUIRED_FUNCTIONS(FIELD)
    OPTIONAL_FUNCTIONS(FIELD)
#undef FIELD
};

extern struct driver cu;

/* Fills `cu`. False, after a line on standard error, if there is no driver or it lacks a required function.
 */
bool driver_load(void);

#endif
