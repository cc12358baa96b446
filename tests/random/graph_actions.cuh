/* Graphs of a random program: captured from streams of their own, with a fork and a join, launched some
 * times, perhaps copied, perhaps with nodes added by hand. */
#ifndef RANDOM_GRAPH_ACTIONS_CUH
#define RANDOM_GRAPH_ACTIONS_CUH

#include "device_actions.cuh"

enum { GRAPH_BUFFERS = 4 };

/* One captured operation on the first two of `b`. The stream is no stream of the world's, so it takes a place
 * there. */
static void capture_operation(World *w, Buffer *const *b, CUstream stream)
{
    uint32_t salt = (uint32_t)next_random(w);
    size_t bytes = 4 * least_words(b, 2);
    CUstream kept = w->streams[2];
    w->streams[2] = stream;
    switch (below(w, 4)) {
    case 0:
        launch(w, 2, fold, words_of(b[0], 0), words_of(b[1], 0), bytes / 4, salt);
        break;
    case 1:
        must(cuMemcpyDtoDAsync(b[0]->address, b[1]->address, bytes, stream));
        break;
    case 2:
        must(cuMemsetD32Async(b[0]->address, salt, 1 + below(w, b[0]->bytes / 4), stream));
        break;
    default:
        launch(w, 2, touch, words_of(b[0], 0), b[0]->bytes / 4, 1 + below(w, 100), salt);
    }
    w->streams[2] = kept;
}

static CUgraph capture(World *w, Buffer *const *b)
{
    CUstream first, second;
    CUevent fork, join;
    CUgraph graph;
    must(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    must(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    pthread_rwlock_rdlock(&capturing);
    must(cuStreamBeginCapture(first, chance(w, 50) ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                                   : CU_STREAM_CAPTURE_MODE_RELAXED));
    for (size_t i = 1 + below(w, 4); i > 0; i--) capture_operation(w, b, first);
    must(cuEventRecord(fork, first));
    must(cuStreamWaitEvent(second, fork, 0));
    for (size_t i = 1 + below(w, 3); i > 0; i--) capture_operation(w, b + 2, second);
    for (size_t i = below(w, 3); i > 0; i--) capture_operation(w, b, first);
    must(cuEventRecord(join, second));
    must(cuStreamWaitEvent(first, join, 0));
    capture_operation(w, b + 1, first);
    must(cuStreamEndCapture(first, &graph));
    pthread_rwlock_unlock(&capturing);
    must(cuStreamDestroy(first));
    must(cuStreamDestroy(second));
    must(cuEventDestroy(fork));
    must(cuEventDestroy(join));
    return graph;
}

/* A memset behind everything that the graph has. */
static void add_by_hand(World *w, CUgraph graph, const Buffer *buffer)
{
    CUgraphNode nodes[64], added;
    size_t count = 64;
    must(cuGraphGetNodes(graph, nodes, &count));
    CUDA_MEMSET_NODE_PARAMS set = {};
    set.dst = buffer->address;
    set.elementSize = 4;
    set.value = (unsigned)next_random(w);
    set.width = 1 + below(w, buffer->bytes / 4);
    set.height = 1;
    must(cuGraphAddMemsetNode(&added, graph, nodes, count, &set, w->context));
}

static void run_graph(World *w)
{
    Buffer *b[GRAPH_BUFFERS];
    bool picked[GRAPH_BUFFERS], writes[GRAPH_BUFFERS] = {true, true, true, true};
    if (pick(w, b, picked, GRAPH_BUFFERS) < GRAPH_BUFFERS) return;
    int s = (int)below(w, STREAMS);
    CUgraph graph = capture(w, b), copy;
    CUgraphExec ready;
    if (chance(w, 40)) add_by_hand(w, graph, b[below(w, GRAPH_BUFFERS)]);
    if (chance(w, 30)) {
        must(cuGraphClone(&copy, graph));
        must(cuGraphDestroy(graph));
        graph = copy;
    }
    must(cuGraphInstantiate(&ready, graph, 0));
    use(w, b, writes, GRAPH_BUFFERS, s);
    for (size_t i = 1 + below(w, 3); i > 0; i--) must(cuGraphLaunch(ready, w->streams[s]));
    used(w, b, writes, GRAPH_BUFFERS, s);
    must(cuGraphDestroy(graph));
    must(cuGraphExecDestroy(ready));
}

#endif
