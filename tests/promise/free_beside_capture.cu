/* What was queued in a stream before it began to capture still comes before a free that is ordered behind it:
 * the memory is given out again only when that work is done.
 *
 * usage: free_beside_capture [ITERATIONS] */
#include "promise.cuh"

enum { ROUNDS = 1000 };
static const size_t bytes = 4 << 20;

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 5;
    unsigned *captured, *freed, *next;
    cudaGraph_t graph;
    watch();
    cudaStream_t user = new_stream(), freer = new_stream(), successor = new_stream();
    cudaEvent_t event = new_event();
    unsigned *wrong = new_counter();
    must(cudaMalloc(&captured, bytes));
    for (unsigned k = 0; k < (unsigned)iterations; k++) {
        must(cudaMallocAsync(&freed, bytes, user));
        fill_in(user, freed, bytes, 100000 + k, ROUNDS);
        must(cudaStreamSynchronize(user));
        check_in(user, freed, bytes, 100000 + k, ROUNDS, wrong);
        order(user, freer, event);
        must(cudaStreamBeginCapture(user, cudaStreamCaptureModeRelaxed));
        fill_in(user, captured, bytes, 1, 0);
        must(cudaFreeAsync(freed, freer));
        must(cudaMallocAsync(&next, bytes, successor));
        fill_in(successor, next, bytes, 900000 + k, 0);
        must(cudaStreamSynchronize(successor));
        must(cudaStreamEndCapture(user, &graph));
        must(cudaGraphDestroy(graph));
        must(cudaDeviceSynchronize());
        must(cudaFree(next));
    }
    return report(wrong);
}
