/* A driver whose one device has no concurrent managed access. VGPU_NAME is the name of the device, and
 * VGPU_VERSION the version of CUDA, 13000 if it is not set. It has few functions. */
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#define CALL __attribute__((visibility("default"))) CUresult CUDAAPI

CALL cuInit(unsigned flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CALL cuDriverGetVersion(int *version)
{
    const char *wanted = getenv("VGPU_VERSION");
    *version = wanted ? atoi(wanted) : 13000;
    return CUDA_SUCCESS;
}

CALL cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

CALL cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

CALL cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    const char *wanted = getenv("VGPU_NAME");
    (void)device;
    snprintf(name, (size_t)bytes, "%s", wanted ? wanted : "");
    return CUDA_SUCCESS;
}

CALL cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = (size_t)40 << 30;
    return CUDA_SUCCESS;
}

CALL cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)attribute;
    (void)device;
    *value = 0;
    return CUDA_SUCCESS;
}

CALL cuCtxGetCurrent(CUcontext *context)
{
    *context = NULL;
    return CUDA_SUCCESS;
}

CALL cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    (void)bytes;
    *address = 0;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CALL cuGetErrorString(CUresult error, const char **text)
{
    (void)error;
    *text = "error";
    return CUDA_SUCCESS;
}
