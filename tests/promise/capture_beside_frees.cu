/* A capture takes in what its thread does in its stream, and nothing else, whatever another thread allocates,
 * uses and frees meanwhile. The stream has work when its capture begins.
 *
 * usage: capture_beside_frees [CAPTURES] */
#include <atomic>
#include <thread>

#include "promise.cuh"

enum { BUFFERS = 12, ROUNDS = 100 };
static const size_t bytes = 2 << 20;
static std::atomic<bool> over;

/* Nodes of kernels, which all are the program's. */
static bool is_ours(cudaGraph_t graph, size_t expected)
{
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    cudaGraphNodeType type;
    must(cudaGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count && i < 8; i++) {
        must(cudaGraphNodeGetType(nodes[i], &type));
        if (type != cudaGraphNodeTypeKernel) return false;
    }
    return count == expected;
}

static void capture(int captures, unsigned *wrong)
{
    unsigned *memory;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    must(cudaSetDevice(0));
    cudaStream_t stream = new_stream();
    must(cudaMallocAsync(&memory, bytes, stream));
    for (unsigned i = 0; i < (unsigned)captures; i++) {
        fill_in(stream, memory, bytes, i, ROUNDS);
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        check_in(stream, memory, bytes, i, ROUNDS, wrong);
        check_in(stream, memory, bytes, i, ROUNDS, wrong);
        must(cudaStreamEndCapture(stream, &graph));
        if (!is_ours(graph, 2)) {
            fprintf(stderr, "capture %u has nodes that are not the program's\n", i);
            _exit(4);
        }
        must(cudaGraphInstantiate(&executable, graph, 0));
        must(cudaGraphLaunch(executable, stream));
        must(cudaGraphExecDestroy(executable));
        must(cudaGraphDestroy(graph));
    }
    over = true;
}

/* More than the budget, so that what the other stream used has to make room, too. */
static void allocate_and_free(unsigned *wrong)
{
    unsigned *buffers[BUFFERS] = {};
    cudaStream_t stream = new_stream();
    for (unsigned i = 0; !over; i++) {
        unsigned *&buffer = buffers[i % BUFFERS], pattern = i - i % BUFFERS;
        if (buffer && i / BUFFERS % 2) {
            check_in(stream, buffer, bytes, pattern - BUFFERS, ROUNDS, wrong);
            if (i % 2)
                must(cudaFreeAsync(buffer, stream));
            else
                must(cudaFree(buffer));
            buffer = NULL;
        } else {
            if (i % 3)
                must(cudaMallocAsync(&buffer, bytes, stream));
            else
                must(cudaMalloc(&buffer, bytes));
            fill_in(stream, buffer, bytes, pattern, ROUNDS);
        }
    }
}

int main(int argc, char **argv)
{
    int captures = argc > 1 ? atoi(argv[1]) : 1000;
    watch();
    unsigned *wrong = new_counter();
    std::thread capturer(capture, captures, wrong);
    allocate_and_free(wrong);
    capturer.join();
    return report(wrong);
}
