// Breaks if the blocks of a cooperative launch do not run side by side, if the grid's barrier lets a block through
// before all have come, or does not work again in the next launch, or if more blocks are taken than there is
// room for.
#include "check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// In each round every block reads what all of them wrote in the round before.
__global__ void rounds(unsigned *values, unsigned *sums, int count)
{
    cg::grid_group grid = cg::this_grid();
    __shared__ unsigned mine;
    for (int round = 0; round < count; round++) {
        if (threadIdx.x == 0) {
            mine = round + blockIdx.x;
            values[blockIdx.x] = mine * mine;
        }
        grid.sync();
        unsigned sum = 0;
        for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) sum += values[b];
        atomicAdd(&sums[round * gridDim.x + blockIdx.x], sum);
        grid.sync();
    }
}

// The first block's threads wait for the last block's, as programs do that have no groups.
__global__ void wait_for_the_last(volatile unsigned *flag, unsigned *seen)
{
    if (blockIdx.x == gridDim.x - 1) {
        if (threadIdx.x == 0) *flag = 7;
    } else {
        while (*flag == 0) {}
        if (threadIdx.x == 0) seen[blockIdx.x] = *flag;
    }
}

// Two variables on which two halves of the grid wait for each other in turn.
__global__ void ping_pong(volatile unsigned *ball, int count)
{
    for (int i = 0; i < count; i++) {
        while (*ball != 2 * i + blockIdx.x) {}
        *ball = 2 * i + blockIdx.x + 1;
    }
}

__global__ void is_cooperative(int *valid)
{
    *valid = cg::this_grid().is_valid();
}

static const int ROUNDS = 5;

static void check_sums(const unsigned *sums, int blocks)
{
    for (int round = 0; round < ROUNDS; round++) {
        unsigned wanted = 0;
        for (int b = 0; b < blocks; b++) wanted += (round + b) * (round + b);
        for (int b = 0; b < blocks; b++) CHECK(sums[round * blocks + b] == wanted);
    }
}

static void run_rounds(unsigned *values, unsigned *sums, int blocks, int threads, cudaStream_t stream)
{
    int count = ROUNDS;
    void *arguments[] = {&values, &sums, &count};
    CUDA(cudaMemsetAsync(sums, 0, ROUNDS * blocks * sizeof *sums, stream));
    CUDA(cudaLaunchCooperativeKernel((const void *)rounds, blocks, threads, arguments, 0, stream));
}

static void run_graph(unsigned *values, unsigned *sums)
{
    const int blocks = 9;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    run_rounds(values, sums, blocks, 96, stream);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphGetNodes(graph, nodes, &count));
    cudaLaunchAttributeValue value = {};
    CUDA(cudaGraphKernelNodeGetAttribute(nodes[1], cudaLaunchAttributeCooperative, &value));
    CHECK(count == 2 && value.cooperative == 1);
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 2; i++) CUDA(cudaGraphLaunch(executable, stream));
    CUDA(cudaStreamSynchronize(stream));
    check_sums(sums, blocks);
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
}

int main()
{
    int supported = 0, processors = 0, fit = 0, *valid;
    unsigned *values, *sums, *flag, *seen;
    CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(supported == 1);
    CUDA(cudaMallocManaged(&values, 64 * sizeof *values));
    CUDA(cudaMallocManaged(&sums, ROUNDS * 64 * sizeof *sums));
    CUDA(cudaMallocManaged(&flag, sizeof *flag));
    CUDA(cudaMallocManaged(&seen, 64 * sizeof *seen));
    CUDA(cudaMallocManaged(&valid, sizeof *valid));
    const int shapes[][2] = {{1, 32}, {2, 1}, {7, 100}, {24, 256}, {3, 1024}};
    for (auto shape : shapes) {
        run_rounds(values, sums, shape[0], shape[1], nullptr);
        CUDA(cudaDeviceSynchronize());
        check_sums(sums, shape[0]);
    }
    run_graph(values, sums);

    *flag = 0;
    void *waiting[] = {&flag, &seen};
    CUDA(cudaLaunchCooperativeKernel((const void *)wait_for_the_last, 8, 64, waiting, 0, nullptr));
    CUDA(cudaDeviceSynchronize());
    for (int b = 0; b < 7; b++) CHECK(seen[b] == 7);
    *flag = 0;
    int count = 20;
    void *playing[] = {&flag, &count};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaLaunchKernelExC(&config, (const void *)ping_pong, playing));
    CUDA(cudaDeviceSynchronize());
    CHECK(*flag == 40);

    void *asking[] = {&valid};
    CUDA(cudaLaunchCooperativeKernel((const void *)is_cooperative, 1, 1, asking, 0, nullptr));
    CUDA(cudaDeviceSynchronize());
    CHECK(*valid == 1);
    is_cooperative<<<1, 1>>>(valid);
    CUDA(cudaDeviceSynchronize());
    CHECK(*valid == 0);

    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, rounds, 1024, 0));
    void *many[] = {&values, &sums, &count};
    CHECK(cudaLaunchCooperativeKernel((const void *)rounds, fit * processors + 1, 1024, many, 0, nullptr) ==
          cudaErrorCooperativeLaunchTooLarge);
    CUDA(cudaDeviceSynchronize());
    return 0;
}
