// Run where libcuda.so.1 is not in the library path. Breaks if a program on a machine without a driver
// crashes or is told that all is well.
#include "check.h"

__device__ int variable;
__managed__ int managed;

__global__ void kernel(int *out)
{
    *out = variable + managed;
}

// usage: no_driver [too-old]; "too-old": there is a driver, and this runtime must refuse it.
int main(int argc, char **)
{
    int count = 5, version = 5;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && argc == 1) skip("there is a driver");
    CHECK(error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice);
    CHECK(count == 0);
    CUDA_IS(cudaGetLastError(), error);
    CUDA(cudaDriverGetVersion(&version));
    CHECK(version == 0 || error == cudaErrorNoDevice || (argc > 1 && version < CUDART_VERSION));
    void *memory = nullptr;
    CUDA_IS(cudaMalloc(&memory, 100), error);
    CUDA_IS(cudaFree(nullptr), error);
    kernel<<<1, 1>>>(nullptr);
    CUDA_IS(cudaGetLastError(), error);
    CUDA_IS(cudaMemcpyToSymbol(variable, &count, sizeof count), error);
    CUDA_IS(cudaDeviceSynchronize(), error);
    CUDA_IS(cudaGetLastError(), error);
    return 0;
}
