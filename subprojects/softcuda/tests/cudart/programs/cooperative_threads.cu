// Breaks if cooperative launches that run at the same time (of several threads, streams, grids, devices, graphs) have
// a barrier in common: one grid then goes on before all of its blocks have come, or waits for ever.
#include "check.h"

#include <cooperative_groups.h>
#include <pthread.h>

namespace cg = cooperative_groups;

// In each round every block takes its right neighbour's number of the round before, plus one.
__global__ void pass_on(unsigned *even, unsigned *odd, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < rounds; round++) {
        const unsigned *from = round % 2 ? odd : even;
        unsigned *to = round % 2 ? even : odd;
        if (threadIdx.x == blockDim.x - 1) to[blockIdx.x] = from[(blockIdx.x + 1) % gridDim.x] + 1;
        grid.sync();
    }
}

static const int THREADS = 4, LAUNCHES = 10, ROUNDS = 4, BLOCKS_MAX = 40;

struct ring {
    int blocks;
    unsigned *even, *odd;
    cudaStream_t stream;
};

static ring make_ring(int blocks)
{
    ring made = {blocks};
    unsigned numbers[BLOCKS_MAX];
    for (int b = 0; b < blocks; b++) numbers[b] = 1000 * b;
    CUDA(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&made.even, sizeof numbers));
    CUDA(cudaMalloc(&made.odd, sizeof numbers));
    CUDA(cudaMemcpy(made.even, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    return made;
}

static void turn(ring &ring, int threads)
{
    int rounds = ROUNDS; // an even number: the result is in `even`
    void *arguments[] = {&ring.even, &ring.odd, &rounds};
    CUDA(cudaLaunchCooperativeKernel((const void *)pass_on, ring.blocks, threads, arguments, 0, ring.stream));
}

static void check_ring(ring &ring, int turns)
{
    unsigned numbers[BLOCKS_MAX];
    CUDA(cudaStreamSynchronize(ring.stream));
    CUDA(cudaMemcpy(numbers, ring.even, ring.blocks * sizeof *numbers, cudaMemcpyDeviceToHost));
    for (int b = 0; b < ring.blocks; b++)
        CHECK(numbers[b] == 1000u * ((b + turns * ROUNDS) % ring.blocks) + turns * ROUNDS);
    CUDA(cudaFree(ring.even));
    CUDA(cudaFree(ring.odd));
    CUDA(cudaStreamDestroy(ring.stream));
}

// Two streams of one thread, with grids of different sizes; each thread has other ones.
static void run_streams(int index)
{
    ring rings[] = {make_ring(2 + index), make_ring(BLOCKS_MAX - 7 * index)};
    for (int i = 0; i < LAUNCHES; i++) {
        for (ring &ring : rings) turn(ring, 32 << (index + i) % 4);
        if (i % 8 == 7) CUDA(cudaStreamSynchronize(rings[0].stream));
    }
    for (ring &ring : rings) check_ring(ring, LAUNCHES);
}

static void run_graph(int index)
{
    ring ring = make_ring(3 + 5 * index);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CUDA(cudaStreamBeginCapture(ring.stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 2; i++) turn(ring, 64);
    CUDA(cudaStreamEndCapture(ring.stream, &graph));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < LAUNCHES / 2; i++) CUDA(cudaGraphLaunch(executable, ring.stream));
    check_ring(ring, LAUNCHES);
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
}

static int devices;

static void *run_thread(void *argument)
{
    const int index = (int)(size_t)argument;
    CUDA(cudaSetDevice(index % devices));
    run_streams(index);
    run_graph(index);
    return nullptr;
}

int main()
{
    CUDA(cudaGetDeviceCount(&devices));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], nullptr, run_thread, (void *)(size_t)i) == 0);
    for (pthread_t thread : threads) CHECK(pthread_join(thread, nullptr) == 0);
    return 0;
}
