// Only on softcuda: a program of which there is machine code only, and whose kernels are therefore not
// executed. Breaks if they or their variables are not found, are described wrongly, or if a launch is free,
// or costs the same whatever it is given. Argument: how softcuda executes, sample or all.
#include "check.h"

#include <cstring>
#include <vector>

__constant__ int constants[4] = {1, 2, 3, 4};
__device__ float numbers[256];
__managed__ int told = 5;

__global__ void __launch_bounds__(512) scale(float *out, const float *in, float factor)
{
    __shared__ float part[512];
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    part[threadIdx.x] = in[i] * constants[i & 3];
    __syncthreads();
    out[i] = part[threadIdx.x ^ 1] * factor + numbers[i & 255] + told;
}

struct list {
    float *at[16];
};

__global__ void increment(list all, int elements)
{
    float *at = all.at[blockIdx.y];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += gridDim.x * blockDim.x) at[i] += 1;
}

static float milliseconds_of(cudaEvent_t begin, cudaEvent_t end)
{
    float ms = 0;
    CUDA(cudaEventSynchronize(end));
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    return ms;
}

static float time_scale(float *out, const float *in, unsigned blocks, dim3 threads = 512)
{
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaEventRecord(begin));
    scale<<<blocks, threads>>>(out, in, 2);
    CUDA(cudaGetLastError());
    CUDA(cudaEventRecord(end));
    return milliseconds_of(begin, end);
}

static void describes()
{
    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, scale));
    CHECK(attributes.sharedSizeBytes == 512 * sizeof(float));
    CHECK(attributes.maxThreadsPerBlock == 512);
    CHECK(attributes.numRegs >= 8 && attributes.numRegs <= 64);
    CHECK(attributes.ptxVersion == 75 || attributes.ptxVersion == 90);
    CHECK(attributes.constSizeBytes == sizeof constants);
    int blocks = 0;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 512, 0));
    CHECK(blocks >= 1);
}

static void has_variables()
{
    int values[4] = {0};
    CUDA(cudaMemcpyFromSymbol(values, constants, sizeof values));
    for (int i = 0; i < 4; i++) CHECK(values[i] == i + 1);
    values[2] = 42;
    CUDA(cudaMemcpyToSymbol(constants, values, sizeof values));
    memset(values, 0, sizeof values);
    CUDA(cudaMemcpyFromSymbol(values, constants, sizeof values));
    CHECK(values[2] == 42);
    std::vector<float> all(256, 1.0f);
    CUDA(cudaMemcpyFromSymbol(all.data(), numbers, 256 * sizeof(float)));
    for (float number : all) CHECK(number == 0);
    CHECK(told == 5);
    told = 6;
}

// The device's memory takes some 2 TB/s. Each byte is read or written.
static void costs_by_size()
{
    const size_t elements = 64 << 20;
    float *out, *in, value = 0;
    CUDA(cudaMalloc(&out, elements * sizeof *out));
    CUDA(cudaMalloc(&in, elements * sizeof *in));
    CUDA(cudaMemset(out, 0, elements * sizeof *out));
    const float whole = time_scale(out, in, elements / 512),
                eighth = time_scale(out, in, elements / 32 / 512),
                in_place = time_scale(in, in, elements / 512), few = time_scale(out, in, 1);
    const float expected = 2 * elements * sizeof(float) / 2e9f;
    CHECK(whole > 0.9f * expected && whole < 1.1f * expected);
    CHECK(in_place > 0.9f * whole && in_place < 1.1f * whole); // of one tensor, both ways
    CHECK(eighth > 0.1f * whole && eighth < 0.2f * whole);     // 16 bytes of each tensor for a thread
    CHECK(few < 0.1f * whole);
    const float rows = time_scale(out, in, elements / 32 / 512, dim3(32, 16));
    CHECK(rows > 0.9f * whole && rows < 1.1f * whole); // of which a thread accesses more
    const float parts = time_scale(out, out + elements / 4, elements / 512);
    CHECK(parts > 0.4f * whole && parts < 0.6f * whole); // one tensor ends where the other begins
    CUDA(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 0); // nothing was executed
    CUDA(cudaFree(out));
    CUDA(cudaFree(in));
}

// What the host has of managed memory comes at the first launch.
static void moves_managed_memory()
{
    const size_t bytes = 64 << 20;
    float *in, *out;
    CUDA(cudaMallocManaged(&in, bytes));
    CUDA(cudaMallocManaged(&out, bytes));
    memset(in, 0, bytes);
    memset(out, 0, bytes);
    const cudaMemLocation host = {cudaMemLocationTypeHost, 0};
    CUDA(cudaMemPrefetchAsync(in, bytes, host, 0, 0));
    CUDA(cudaMemPrefetchAsync(out, bytes, host, 0, 0));
    const unsigned blocks = bytes / 16 / 512;
    const float first = time_scale(out, in, blocks), second = time_scale(out, in, blocks);
    CHECK(first > 10 * second);
    // A tensor may be written, which ends the host's copy.
    const cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    CUDA(cudaMemAdvise(in, bytes, cudaMemAdviseSetReadMostly, device));
    CUDA(cudaMemPrefetchAsync(in, bytes, host, 0, 0));
    CUDA(cudaMemPrefetchAsync(in, bytes, device, 0, 0));
    const float written = time_scale(out, in, blocks);
    CHECK(written > 2 * second);
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
}

static void goes_over_lists()
{
    list all = {};
    const int elements = 1 << 24;
    cudaEvent_t begin, end;
    for (float *&at : all.at) CUDA(cudaMalloc(&at, elements * sizeof *at));
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaEventRecord(begin));
    increment<<<dim3(16, 16), 512>>>(all, elements);
    CUDA(cudaGetLastError());
    CUDA(cudaEventRecord(end));
    // Each tensor as far as the grid gets, and no more than three of those in all.
    const float expected = 16 * 16 * 512 * 1536 / 2e9f, ms = milliseconds_of(begin, end);
    CHECK(ms > 0.9f * expected && ms < 1.1f * expected);
    for (float *at : all.at) CUDA(cudaFree(at));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "sample")) {
        float *memory;
        CUDA(cudaMalloc(&memory, 1 << 20));
        scale<<<1, 512>>>(memory, memory, 1);
        CUDA_IS(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
        return 0;
    }
    describes();
    has_variables();
    costs_by_size();
    moves_managed_memory();
    goes_over_lists();
    return 0;
}
