/* cudaFree of memory from cudaMalloc comes behind all work: what a kernel wrote to host memory can be read behind it, and
 * the memory is given out again only when nobody uses it any more, though the stream that does captures by now, by itself or
 * because the capture drew it in.
 *
 * usage: plain_free_waits_for_work [ITERATIONS] */
#include "promise.cuh"

enum { ROUNDS = 1000 };
static const size_t bytes = 4 << 20;

static __global__ void tell(volatile unsigned *host, unsigned value)
{
    work(ROUNDS);
    *host = value;
}

static unsigned *filled(cudaStream_t stream, unsigned pattern)
{
    unsigned *memory;
    must(cudaMalloc(&memory, bytes));
    fill_in(stream, memory, bytes, pattern, 0);
    must(cudaStreamSynchronize(stream));
    return memory;
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 5;
    unsigned *captured, *next[2], unread = 0;
    volatile unsigned *host;
    cudaGraph_t graph;
    watch();
    cudaStream_t origin = new_stream(), drawn = new_stream(), successor = new_stream();
    cudaEvent_t event = new_event();
    unsigned *wrong = new_counter();
    must(cudaMalloc(&captured, bytes));
    must(cudaHostAlloc((void **)&host, sizeof *host, cudaHostAllocMapped));
    for (unsigned k = 1; k <= (unsigned)iterations; k++) {
        unsigned *first = filled(origin, 1000 * k), *second = filled(drawn, 2000 * k);
        check_in(origin, first, bytes, 1000 * k, ROUNDS, wrong);
        check_in(drawn, second, bytes, 2000 * k, ROUNDS, wrong);
        must(cudaStreamBeginCapture(origin, cudaStreamCaptureModeRelaxed));
        order(origin, drawn, event);
        fill_in(drawn, captured, bytes, 1, 0);
        order(drawn, origin, event);
        must(cudaFree(first));
        must(cudaFree(second));
        for (unsigned i = 0; i < 2; i++) {
            must(cudaMalloc(&next[i], bytes));
            fill_in(successor, next[i], bytes, 5000 * k + i, 0);
        }
        must(cudaStreamSynchronize(successor));
        must(cudaStreamEndCapture(origin, &graph));
        must(cudaGraphDestroy(graph));
        tell<<<1, 1, 0, origin>>>(host, k);
        must(cudaFree(next[0]));
        unread += *host != k;
        must(cudaFree(next[1]));
    }
    if (unread) printf("unread %u\n", unread);
    return report(wrong) || unread;
}
