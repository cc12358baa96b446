// Breaks if what the device says about itself does not agree.
#include "check.h"

#include <cstring>

__global__ void busy(float *data, int count)
{
    __shared__ float row[128];
    row[threadIdx.x & 127] = data[threadIdx.x];
    __syncthreads();
    for (int i = 0; i < count; i++) data[threadIdx.x] += row[i & 127];
}

__global__ void set(int *to, int value)
{
    *to = value;
}

int main()
{
    int count = 0, device = -1, value = 0, driver = 0, runtime = 0;
    CUDA(cudaGetDeviceCount(&count));
    CHECK(count >= 1);
    CUDA(cudaGetDevice(&device));
    CHECK(device == 0);
    CUDA(cudaDriverGetVersion(&driver));
    CUDA(cudaRuntimeGetVersion(&runtime));
    CHECK(runtime >= 13000 && driver >= runtime);
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    CHECK(std::strlen(properties.name) > 0 && properties.warpSize == 32 && properties.major >= 7);
    CHECK(properties.maxThreadsPerBlock == 1024 && properties.multiProcessorCount > 0);
    CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == properties.multiProcessorCount);
    CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(value == properties.major);
    size_t free_bytes = 0, total_bytes = 0, limit = 0;
    CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    CHECK(total_bytes <= properties.totalGlobalMem + (properties.totalGlobalMem >> 4));
    CUDA_IS(cudaGetDeviceProperties(&properties, count), cudaErrorInvalidDevice);
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidDevice);
    CUDA(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    CHECK(limit > 0);

    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, busy));
    CHECK(attributes.sharedSizeBytes == 128 * sizeof(float));
    CHECK(attributes.maxThreadsPerBlock > 0 && attributes.maxThreadsPerBlock <= 1024 &&
          attributes.numRegs > 0);
    CHECK(attributes.ptxVersion == 75);
    CUDA(cudaFuncSetAttribute(busy, cudaFuncAttributeMaxDynamicSharedMemorySize, 32768));
    CUDA(cudaFuncGetAttributes(&attributes, busy));
    CHECK(attributes.maxDynamicSharedSizeBytes == 32768);
    int blocks = 0, best_grid = 0, best_block = 0;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, busy, 128, 0));
    CHECK(blocks >= 1 && blocks * 128 <= properties.maxThreadsPerMultiProcessor);
    CUDA(cudaOccupancyMaxPotentialBlockSize(&best_grid, &best_block, busy));
    CHECK(best_block >= 32 && best_block <= 1024 && best_grid >= properties.multiProcessorCount);

    int *data, got = 0;
    CUDA(cudaMalloc(&data, sizeof(int)));
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 1;
    CUDA(cudaLaunchKernelEx(&config, set, data, 7));
    CUDA(cudaMemcpy(&got, data, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 7);
    cudaKernel_t kernel = nullptr;
    CUDA(cudaGetKernel(&kernel, set));
    int eight = 8;
    void *arguments[] = {&data, &eight};
    CUDA(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    CUDA(cudaMemcpy(&got, data, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 8);
    size_t offset = 1, bytes = 0;
    CUDA(cudaFuncGetParamInfo((const void *)set, 1, &offset, &bytes));
    CHECK(offset == 8 && bytes == 4);

    void *function = nullptr;
    cudaDriverEntryPointQueryResult result;
    CUDA(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &result));
    CHECK(function != nullptr && result == cudaDriverEntryPointSuccess);
    CUDA(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, 12000, cudaEnableDefault, &result));
    CHECK(function == nullptr && result == cudaDriverEntryPointSymbolNotFound);
    CUDA(cudaFree(data));
    CUDA(cudaDeviceReset());
    CUDA(cudaMalloc(&data, sizeof(int)));
    set<<<1, 1>>>(data, 9);
    CUDA(cudaMemcpy(&got, data, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 9);
    return 0;
}
