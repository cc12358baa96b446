/* Graphs of a random program: captured from streams of their own, with a fork and a join, launched some
 * times, perhaps copied, perhaps a child of another, perhaps with nodes added by hand, and changed between
 * launches. */
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

/* A graph of the same nodes on the buffers in another order. */
static CUgraph capture_again(World *w, Buffer *const *b, uint64_t random_before)
{
    Buffer *turned[GRAPH_BUFFERS];
    for (int i = 0; i < GRAPH_BUFFERS; i++) turned[i] = b[(i + 1) % GRAPH_BUFFERS];
    uint64_t kept = w->random;
    w->random = random_before;
    CUgraph graph = capture(w, turned);
    w->random = kept;
    return graph;
}

/* A kernel and a memset behind everything that the graph has. */
struct ByHand {
    CUgraphNode kernel, set;
};

struct KernelNode {
    uint32_t *to;
    size_t count;
    uint32_t salt;
    void *pointers[3];
    CUDA_KERNEL_NODE_PARAMS parameters;
};

static void random_kernel_node(World *w, KernelNode *node, const Buffer *buffer)
{
    cudaFunction_t function;
    must(cudaGetFuncBySymbol(&function, (const void *)fill));
    *node = {};
    node->to = words_of(buffer, 0);
    node->count = 1 + below(w, buffer->bytes / 4);
    node->salt = (uint32_t)next_random(w);
    node->pointers[0] = &node->to;
    node->pointers[1] = &node->count;
    node->pointers[2] = &node->salt;
    node->parameters.func = function;
    node->parameters.gridDimX = 1 + (unsigned)below(w, 8);
    node->parameters.blockDimX = 64;
    node->parameters.gridDimY = node->parameters.gridDimZ = 1;
    node->parameters.blockDimY = node->parameters.blockDimZ = 1;
    node->parameters.kernelParams = node->pointers;
}

static CUDA_MEMSET_NODE_PARAMS random_set_node(World *w, const Buffer *buffer)
{
    CUDA_MEMSET_NODE_PARAMS set = {};
    set.dst = buffer->address;
    set.elementSize = 4;
    set.value = (unsigned)next_random(w);
    set.width = 1 + below(w, buffer->bytes / 4);
    set.height = 1;
    return set;
}

static ByHand add_by_hand(World *w, CUgraph graph, Buffer *const *b)
{
    CUgraphNode nodes[64];
    size_t count = 63;
    ByHand added;
    KernelNode kernel;
    must(cuGraphGetNodes(graph, nodes, &count));
    random_kernel_node(w, &kernel, b[below(w, GRAPH_BUFFERS)]);
    must(cuGraphAddKernelNode(&added.kernel, graph, nodes, count, &kernel.parameters));
    nodes[count++] = added.kernel;
    CUDA_MEMSET_NODE_PARAMS set = random_set_node(w, b[below(w, GRAPH_BUFFERS)]);
    must(cuGraphAddMemsetNode(&added.set, graph, nodes, count, &set, w->context));
    return added;
}

static void change_by_hand(World *w, CUgraphExec ready, const ByHand *nodes, Buffer *const *b)
{
    KernelNode kernel;
    CUDA_MEMSET_NODE_PARAMS set;
    switch (below(w, 4)) {
    case 0:
        random_kernel_node(w, &kernel, b[below(w, GRAPH_BUFFERS)]);
        must(cuGraphExecKernelNodeSetParams(ready, nodes->kernel, &kernel.parameters));
        break;
    case 1: /* a memset node keeps the kind of memory that it writes */
        if (!w->plain) return;
        set = random_set_node(w, b[below(w, GRAPH_BUFFERS)]);
        must(cuGraphExecMemsetNodeSetParams(ready, nodes->set, &set, w->context));
        break;
    default:
        must(cuGraphNodeSetEnabled(ready, chance(w, 50) ? nodes->kernel : nodes->set, chance(w, 50)));
    }
}

/* Puts a graph of the captured kind in the place of the whole graph, or of its child. */
static void change_as_a_whole(World *w, CUgraphExec ready, CUgraphNode child, Buffer *const *b,
                              uint64_t random_before)
{
    CUgraphExecUpdateResultInfo info;
    CUgraph other = capture_again(w, b, random_before);
    if (child)
        must(cuGraphExecChildGraphNodeSetParams(ready, child, other));
    else
        must(cuGraphExecUpdate(ready, other, &info));
    must(cuGraphDestroy(other));
}

static void launch_some_times(World *w, CUgraphExec ready, int s)
{
    for (size_t i = 1 + below(w, 3); i > 0; i--) must(cuGraphLaunch(ready, w->streams[s]));
}

static void run_graph(World *w)
{
    Buffer *b[GRAPH_BUFFERS];
    bool picked[GRAPH_BUFFERS], writes[GRAPH_BUFFERS] = {true, true, true, true};
    if (pick(w, b, picked, GRAPH_BUFFERS) < GRAPH_BUFFERS) return;
    int s = (int)below(w, STREAMS);
    uint64_t random_before = w->random;
    CUgraph graph = capture(w, b), copy;
    CUgraphNode child = NULL;
    CUgraphExec ready;
    ByHand nodes = {};
    bool by_hand = chance(w, 50);
    if (chance(w, 30)) {
        must(cuGraphClone(&copy, graph));
        must(cuGraphDestroy(graph));
        graph = copy;
    }
    if (chance(w, 30)) {
        must(cuGraphCreate(&copy, 0));
        must(cuGraphAddChildGraphNode(&child, copy, NULL, 0, graph));
        must(cuGraphDestroy(graph));
        graph = copy;
    }
    if (by_hand) nodes = add_by_hand(w, graph, b);
    must(cuGraphInstantiate(&ready, graph, 0));
    use(w, b, writes, GRAPH_BUFFERS, s);
    launch_some_times(w, ready, s);
    for (size_t i = below(w, 4); i > 0; i--) {
        if (by_hand && chance(w, 60))
            change_by_hand(w, ready, &nodes, b);
        else if (w->plain && (child || !by_hand))
            change_as_a_whole(w, ready, child, b, random_before);
        launch_some_times(w, ready, s);
    }
    used(w, b, writes, GRAPH_BUFFERS, s);
    must(cuGraphDestroy(graph));
    must(cuGraphExecDestroy(ready));
}

#endif
