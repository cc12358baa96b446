/* Breaks if what streams captured does not do the same as its launches would have done. */
#include "check.h"
#include "kernels.h"

#define COUNT 512
#define BYTES (COUNT * sizeof(float))

static CUmodule module;
static CUfunction affine;
static CUdeviceptr a, b, c;
static float *host; /* pinned */

static void launch(CUstream stream, CUdeviceptr to, CUdeviceptr from, float scale, float bias)
{
    unsigned elements = COUNT;
    void *parameters[] = {&to, &from, &elements, &scale, &bias};
    OK(cuLaunchKernel(affine, COUNT / 128, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
}

static void fill(CUstream stream, CUdeviceptr to, float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    OK(cuMemsetD32Async(to, bits, COUNT, stream));
}

static void CUDA_CB add_one(void *data)
{
    ++*(int *)data;
}

static size_t count_nodes(CUgraph graph, CUgraphNodeType wanted)
{
    CUgraphNode nodes[64];
    size_t count = 64, found = 0;
    OK(cuGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type;
        OK(cuGraphNodeGetType(nodes[i], &type));
        found += type == wanted;
    }
    return found;
}

static void run(CUgraph graph, CUstream stream, int times)
{
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; i++) OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
}

static void one_stream(CUstream stream)
{
    static float pageable[COUNT];
    static int calls;
    CUstreamCaptureStatus status;
    CUgraph graph;
    for (int i = 0; i < COUNT; i++) pageable[i] = -1;
    calls = 0;
    OK(cuStreamIsCapturing(stream, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyHtoDAsync(a, pageable, BYTES, stream));
    launch(stream, b, a, 2, 1);
    OK(cuMemcpyDtoDAsync(c, b, BYTES, stream));
    OK(cuMemcpyDtoHAsync(host, c, BYTES, stream));
    OK(cuLaunchHostFunc(stream, add_one, &calls));
    OK(cuStreamIsCapturing(stream, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamEndCapture(stream, &graph));
    CHECK(calls == 0); /* nothing has run */
    CHECK(count_nodes(graph, CU_GRAPH_NODE_TYPE_MEMCPY) == 3);
    CHECK(count_nodes(graph, CU_GRAPH_NODE_TYPE_KERNEL) == 1);
    CHECK(count_nodes(graph, CU_GRAPH_NODE_TYPE_HOST) == 1);
    size_t edges = 0;
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    CHECK(edges == 4);
    /* The source is read when the graph runs. */
    for (int i = 0; i < COUNT; i++) pageable[i] = (float)i;
    run(graph, stream, 2);
    CHECK(calls == 2);
    for (int i = 0; i < COUNT; i++) CHECK(host[i] == (float)(2 * i + 1));
    OK(cuGraphDestroy(graph));
}

/* What was submitted before the capture and what comes after it stay in order. */
static void around(CUstream stream)
{
    CUgraph graph;
    fill(stream, a, 5);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    fill(stream, a, 7);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuMemcpyDtoHAsync(host, a, BYTES, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(host[0] == 5 && host[COUNT - 1] == 5);
    run(graph, stream, 1);
    OK(cuMemcpyDtoH(host, a, BYTES));
    CHECK(host[0] == 7);
    OK(cuGraphDestroy(graph));
}

/* a = 1; on one branch b = 2a + 1, on the other c = 3a; then a = 10b, and c += 1. */
static void fork_and_join(CUstream stream, CUstream side)
{
    CUevent forked, joined;
    CUgraph graph;
    OK(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    fill(stream, a, 1);
    OK(cuEventRecord(forked, stream));
    OK(cuStreamWaitEvent(side, forked, 0));
    CUstreamCaptureStatus status;
    cuuint64_t id, side_id;
    CUgraph into;
    const CUgraphNode *nodes;
    size_t count;
    OK(cuStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    OK(cuStreamGetCaptureInfo(side, &status, &side_id, &into, &nodes, NULL, &count));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id == side_id && into && count == 1);
    launch(stream, b, a, 2, 1);
    launch(side, c, a, 3, 0);
    OK(cuEventRecord(joined, side));
    OK(cuStreamWaitEvent(stream, joined, 0));
    OK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, NULL, &count));
    CHECK(count == 2);
    launch(stream, a, b, 10, 0);
    launch(stream, c, c, 1, 1);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuStreamIsCapturing(side, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(count_nodes(graph, CU_GRAPH_NODE_TYPE_KERNEL) == 4);
    run(graph, stream, 2);
    OK(cuMemcpyDtoH(host, a, BYTES));
    CHECK(host[0] == 30 && host[COUNT - 1] == 30);
    OK(cuMemcpyDtoH(host, c, BYTES));
    CHECK(host[0] == 4 && host[COUNT - 1] == 4);
    /* The stream that was drawn in may be used, and captured, on its own. */
    fill(side, c, 9);
    OK(cuStreamSynchronize(side));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture(side, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamEndCapture(side, &graph));
    OK(cuGraphGetNodes(graph, NULL, &count));
    CHECK(count == 0);
    run(graph, stream, 1);
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy(forked));
    OK(cuEventDestroy(joined));
}

/* Nodes by hand in the middle of a capture, and a capture in the middle of a graph. */
static void mixed(CUstream stream)
{
    CUgraph graph, into;
    CUgraphNode first, empty;
    CUstreamCaptureStatus status;
    const CUgraphNode *nodes;
    size_t count;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    OK(cuStreamBeginCaptureToGraph(stream, graph, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
    fill(stream, a, 3);
    OK(cuStreamGetCaptureInfo(stream, &status, NULL, &into, &nodes, NULL, &count));
    CHECK(into == graph && count == 1);
    OK(cuGraphAddEmptyNode(&empty, graph, nodes, count));
    OK(cuStreamUpdateCaptureDependencies(stream, &empty, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    launch(stream, b, a, 2, 0);
    OK(cuStreamEndCapture(stream, &into));
    CHECK(into == graph);
    size_t edges;
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    CHECK(edges == 3);
    run(graph, stream, 1);
    OK(cuMemcpyDtoH(host, b, BYTES));
    CHECK(host[0] == 6);
    OK(cuGraphDestroy(graph));
}

/* The launch of a graph is captured as a child graph; events with the external flag are nodes. */
static void nested(CUstream stream, CUstream side)
{
    CUgraph inner, outer;
    CUgraphExec exec;
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(stream, a, a, 2, 0);
    OK(cuStreamEndCapture(stream, &inner));
    OK(cuGraphInstantiate(&exec, inner, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    fill(stream, a, 1);
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    OK(cuStreamEndCapture(stream, &outer));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(inner));
    CHECK(count_nodes(outer, CU_GRAPH_NODE_TYPE_GRAPH) == 2);
    CHECK(count_nodes(outer, CU_GRAPH_NODE_TYPE_EVENT_RECORD) == 1);
    OK(cuGraphInstantiate(&exec, outer, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamWaitEvent(side, event, 0));
    OK(cuMemcpyDtoHAsync(host, a, BYTES, side));
    OK(cuStreamSynchronize(side));
    CHECK(host[0] == 4);
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(outer));
    OK(cuEventDestroy(event));
}

int main(void)
{
    CUdevice device = start();
    CUstream blocking, free_stream, other;
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    OK(cuMemAlloc(&a, BYTES));
    OK(cuMemAlloc(&b, BYTES));
    OK(cuMemAlloc(&c, BYTES));
    OK(cuMemAllocHost((void **)&host, BYTES));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    one_stream(blocking);
    one_stream(free_stream);
    one_stream(CU_STREAM_PER_THREAD);
    around(blocking);
    around(free_stream);
    fork_and_join(blocking, other);
    fork_and_join(free_stream, blocking);
    mixed(free_stream);
    nested(free_stream, other);
    OK(cuStreamDestroy(blocking));
    OK(cuStreamDestroy(free_stream));
    OK(cuStreamDestroy(other));
    OK(cuMemFreeHost(host));
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    OK(cuMemFree(c));
    OK(cuModuleUnload(module));
    finish(device);
    return 0;
}
