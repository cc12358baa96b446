// Breaks if memory allocated in stream order is not usable in that order, or a pool's functions do not reach
// it.
#include "check.h"

#include <cstdint>

__global__ void add(float *to, const float *from, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] += from[i];
}

__global__ void fill(float *to, float value, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = value;
}

static void sums(cudaStream_t stream)
{
    const int count = 1 << 16;
    float *total, *host;
    CUDA(cudaMallocHost(&host, count * sizeof(float)));
    CUDA(cudaMallocAsync(&total, count * sizeof(float), stream));
    CUDA(cudaMemsetAsync(total, 0, count * sizeof(float), stream));
    for (int i = 1; i <= 50; i++) {
        float *step;
        CUDA(cudaMallocAsync(&step, count * sizeof(float), stream));
        fill<<<count / 256, 256, 0, stream>>>(step, i, count);
        add<<<count / 256, 256, 0, stream>>>(total, step, count);
        CUDA(cudaFreeAsync(step, stream));
    }
    CUDA(cudaMemcpyAsync(host, total, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CUDA(cudaFreeAsync(total, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; i++) CHECK(host[i] == 1275);
    CUDA(cudaFreeHost(host));
}

static void own_pool(cudaStream_t stream, int device)
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    cudaMemPool_t pool, current;
    uint64_t keep = UINT64_MAX, used = 0;
    void *memory;
    CUDA(cudaMemPoolCreate(&pool, &properties));
    CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    CUDA(cudaMallocFromPoolAsync(&memory, 1 << 20, pool, stream));
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(used >= 1 << 20);
    CUDA(cudaFreeAsync(memory, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(used == 0);
    CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &used));
    CHECK(used >= 1 << 20);
    CUDA(cudaMemPoolTrimTo(pool, 0));
    CUDA(cudaDeviceSetMemPool(device, pool));
    CUDA(cudaDeviceGetMemPool(&current, device));
    CHECK(current == pool);
    sums(stream);
    CUDA(cudaMemPoolDestroy(pool));
}

int main()
{
    int device = 0, supported = 0;
    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
    if (!supported) skip("no memory pools");
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    sums(stream);
    sums(cudaStreamLegacy);
    sums(cudaStreamPerThread);
    own_pool(stream, device);
    CUDA(cudaStreamDestroy(stream));
    return 0;
}
