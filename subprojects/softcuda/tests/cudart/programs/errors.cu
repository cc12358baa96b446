// Breaks if an error goes unnoticed, is not remembered until asked for, or stays longer than it should.
#include "check.h"

#include <cstring>
#include <thread>

__global__ void store(int *to)
{
    *to = 1;
}

int main()
{
    CHECK(strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
    CHECK(cudaGetErrorString((cudaError_t)12345) != nullptr);

    CUDA(cudaFree(nullptr));
    CUDA_IS(cudaSetDevice(1000), cudaErrorInvalidDevice);
    CUDA_IS(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    std::thread other([] { CUDA(cudaPeekAtLastError()); }); /* another thread has errors of its own */
    other.join();
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidDevice);
    CUDA(cudaGetLastError());

    int *data;
    CUDA(cudaMalloc(&data, sizeof(int)));
    store<<<1, 2048>>>(data);
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
    store<<<0, 1>>>(data);
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
    CUDA_IS(cudaMemcpy(data, data, 4, (cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection);
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
    int local = 0;
    CUDA_IS(cudaLaunchKernel((const void *)&local, 1, 1, nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
    CUDA(cudaDeviceSynchronize()); /* none of these harmed the context */

    store<<<1, 1>>>((int *)8);
    CUDA_IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    CUDA_IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    CHECK(cudaMemcpy(&local, data, sizeof local, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress);
    CUDA_IS(cudaGetLastError(), cudaErrorIllegalAddress);
    return 0;
}
