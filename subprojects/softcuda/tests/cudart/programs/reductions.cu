// Breaks if shared memory (static and dynamic), barriers, shuffles or atomics do not work.
#include "check.h"

#include <vector>

__global__ void sum_shared(const int *in, int *out, int count)
{
    __shared__ int partial[256];
    int sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) sum += in[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

__global__ void sum_warp(const int *in, int *out, int count)
{
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += in[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

__global__ void histogram(const int *in, unsigned *bins, int count, int bin_count)
{
    extern __shared__ unsigned local[];
    for (int i = threadIdx.x; i < bin_count; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i] % bin_count], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < bin_count; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

int main()
{
    const int count = 54321;
    std::vector<int> in(count);
    int expected = 0;
    for (int i = 0; i < count; i++) in[i] = i * 7919 % 1000, expected += in[i];
    int *din, *dout;
    unsigned *dbins;
    CUDA(cudaMalloc(&din, count * sizeof(int)));
    CUDA(cudaMalloc(&dout, 64 * sizeof(int)));
    CUDA(cudaMalloc(&dbins, 300 * sizeof(unsigned)));
    CUDA(cudaMemcpy(din, in.data(), count * sizeof(int), cudaMemcpyHostToDevice));

    int partial[64], got = 0;
    sum_shared<<<64, 256>>>(din, dout, count);
    CUDA(cudaMemcpy(partial, dout, sizeof partial, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) got += partial[i];
    CHECK(got == expected);

    CUDA(cudaMemset(dout, 0, sizeof(int)));
    sum_warp<<<16, 192>>>(din, dout, count);
    CUDA(cudaMemcpy(&got, dout, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == expected);

    std::vector<unsigned> bins(300), counted(300);
    for (int i = 0; i < count; i++) counted[in[i] % 300]++;
    CUDA(cudaMemset(dbins, 0, 300 * sizeof(unsigned)));
    histogram<<<8, 128, 300 * sizeof(unsigned)>>>(din, dbins, count, 300);
    CUDA(cudaMemcpy(bins.data(), dbins, 300 * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(bins == counted);
    CUDA(cudaFree(din));
    CUDA(cudaFree(dout));
    CUDA(cudaFree(dbins));
    return 0;
}
