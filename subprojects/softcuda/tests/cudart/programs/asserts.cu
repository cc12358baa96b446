// Breaks if an assertion in a kernel is not told, is told as something else, or if a device that was reset
// does not work again.
#include "check.h"

#include <cassert>
#include <cstring>
#include <unistd.h>

__global__ void expects(const int *values, int wanted)
{
    assert(values[threadIdx.x] == wanted);
}

__global__ void store(int *to)
{
    *to = 5;
}

int main()
{
    char path[] = "/tmp/cudart-asserts-XXXXXX";
    const int file = mkstemp(path), before = dup(STDERR_FILENO);
    CHECK(file >= 0 && before >= 0);
    unlink(path);
    CHECK(dup2(file, STDERR_FILENO) >= 0);

    int *values, value = 0;
    CUDA(cudaMalloc(&values, 32 * sizeof(int)));
    CUDA(cudaMemset(values, 0, 32 * sizeof(int)));
    expects<<<1, 32>>>(values, 0);
    CUDA(cudaDeviceSynchronize());
    expects<<<1, 32>>>(values, 1);
    const cudaError_t got = cudaDeviceSynchronize();
    CHECK(dup2(before, STDERR_FILENO) >= 0);
    CUDA_IS(got, cudaErrorAssert);
    CUDA_IS(cudaGetLastError(), cudaErrorAssert);
    CUDA_IS(cudaMemcpy(&value, values, sizeof value, cudaMemcpyDeviceToHost), cudaErrorAssert);
    CUDA_IS(cudaMalloc(&values, 16), cudaErrorAssert);
    CUDA_IS(cudaDeviceSynchronize(), cudaErrorAssert);

    char text[8192] = "";
    CHECK(pread(file, text, sizeof text - 1, 0) > 0);
    CHECK(std::strstr(text, "asserts.cu") && std::strstr(text, "values[threadIdx.x] == wanted"));

    cudaDeviceReset();
    cudaGetLastError();
    CUDA(cudaMalloc(&values, sizeof(int)));
    store<<<1, 1>>>(values);
    CUDA(cudaMemcpy(&value, values, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 5);
    CUDA(cudaFree(values));
    return 0;
}
