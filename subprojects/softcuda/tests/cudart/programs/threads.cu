// Built with --default-stream per-thread. Breaks if threads disturb each other, if a NULL stream is not each
// thread's own, or if the first use from many threads at once loads a fat binary twice.
#include "check.h"

#include <thread>
#include <vector>

__device__ int total;

__global__ void scale(int *data, int by)
{
    data[threadIdx.x] *= by;
}
__global__ void count()
{
    atomicAdd(&total, 1);
}

static void work(int id)
{
    int *data, host[64];
    for (int i = 0; i < 64; i++) host[i] = i + id;
    CUDA(cudaMalloc(&data, sizeof host));
    CUDA(cudaMemcpyAsync(data, host, sizeof host, cudaMemcpyHostToDevice, 0));
    for (int i = 0; i < 4; i++) scale<<<1, 64>>>(data, 2);
    count<<<1, 32>>>();
    CUDA(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, 0));
    CUDA(cudaStreamSynchronize(0));
    for (int i = 0; i < 64; i++) CHECK(host[i] == 16 * (i + id));
    CUDA(cudaFree(data));
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) threads.emplace_back(work, i);
    for (std::thread &thread : threads) thread.join();
    CUDA(cudaDeviceSynchronize());
    int got = 0;
    CUDA(cudaMemcpyFromSymbol(&got, total, sizeof got));
    CHECK(got == 8 * 32);
    return 0;
}
