/* Stands for the libcudart that a wheel brings: it knows no device. */
#include <cuda_runtime_api.h>

#pragma GCC visibility push(default)
cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 1;
    return cudaSuccess;
}
