/* A graph of which one node cannot be read is known as far as the others go. Its buffers and as many beside
 * it are used in turn, and memory is for half of them: how much comes to the device tells whether the graph
 * was seen.
 *
 * usage: unreadable_node [LAUNCHES] */
#include "promise.cuh"

enum { NODES = 8 };
static const size_t bytes = 4 << 20;

int main(int argc, char **argv)
{
    int launches = argc > 1 ? atoi(argv[1]) : 20;
    unsigned *of_graph[NODES], *beside[NODES];
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    watch();
    cudaStream_t stream = new_stream();
    unsigned *wrong = new_counter();
    for (unsigned i = 0; i < NODES; i++) {
        must(cudaMalloc(&of_graph[i], bytes));
        must(cudaMalloc(&beside[i], bytes));
        fill_in(stream, of_graph[i], bytes, i, 0);
        fill_in(stream, beside[i], bytes, 50000 + i, 0);
    }
    must(cudaDeviceSynchronize());
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (unsigned i = 0; i < NODES; i++) check_in(stream, of_graph[i], bytes, i, 0, wrong);
    must(cudaStreamEndCapture(stream, &graph));
    must(cudaGraphInstantiate(&executable, graph, 0));
    for (int k = 0; k < launches; k++) {
        must(cudaGraphLaunch(executable, stream));
        for (unsigned i = 0; i < NODES; i++) check_in(stream, beside[i], bytes, 50000 + i, 0, wrong);
    }
    return report(wrong);
}
