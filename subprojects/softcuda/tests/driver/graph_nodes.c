/* Breaks if a graph of explicit nodes does not do what its nodes say, in an order that its edges allow. */
#include "check.h"
#include "kernels.h"

#define COUNT 1024
#define BYTES (COUNT * sizeof(float))

static CUstream stream;
static CUmodule module;
static CUfunction affine;
static CUdeviceptr a, b;
static float *host; /* pinned */

static CUgraphNode add_affine(CUgraph graph, const CUgraphNode *after, size_t count, CUdeviceptr to,
                              CUdeviceptr from, float scale, float bias)
{
    unsigned elements = COUNT;
    void *parameters[] = {&to, &from, &elements, &scale, &bias};
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = affine,
                                      .gridDimX = COUNT / 128,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 128,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = parameters};
    CUgraphNode node;
    OK(cuGraphAddKernelNode(&node, graph, after, count, &kernel));
    /* Parameters are copied: what becomes of the originals does not matter. */
    to = from = 0;
    scale = bias = -1;
    return node;
}

static CUDA_MEMCPY3D line(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = from,
                           .srcPitch = bytes,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = to,
                           .dstPitch = bytes,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

static CUgraphNode add_copy(CUgraph graph, const CUgraphNode *after, size_t count, CUdeviceptr to,
                            CUdeviceptr from, size_t bytes)
{
    CUcontext context;
    CUgraphNode node;
    CUDA_MEMCPY3D copy = line(to, from, bytes);
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphAddMemcpyNode(&node, graph, after, count, &copy, context));
    return node;
}

static CUgraphNode add_set(CUgraph graph, const CUgraphNode *after, size_t count, CUdeviceptr to, float value)
{
    CUcontext context;
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS set = {.dst = to, .elementSize = 4, .width = COUNT, .height = 1};
    memcpy(&set.value, &value, sizeof value);
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphAddMemsetNode(&node, graph, after, count, &set, context));
    return node;
}

static void CUDA_CB add_one(void *data)
{
    ++*(int *)data;
}

static void run(CUgraph graph, int times)
{
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; i++) OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
}

/* set -> two kernels that do not depend on each other -> one that does -> copy -> host function */
static void diamond(void)
{
    static int calls;
    CUgraph graph;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode set = add_set(graph, NULL, 0, a, 1);
    CUgraphNode branches[2];
    branches[0] = add_affine(graph, &set, 1, b, a, 2, 1);
    branches[1] = add_affine(graph, &set, 1, b + BYTES, a, 3, 4);
    CUgraphNode join;
    OK(cuGraphAddEmptyNode(&join, graph, branches, 2));
    CUgraphNode kernel = add_affine(graph, &join, 1, a, b + BYTES, 10, 0);
    CUgraphNode copy = add_copy(graph, &kernel, 1, (CUdeviceptr)host, a, BYTES);
    CUDA_HOST_NODE_PARAMS call = {add_one, &calls};
    CUgraphNode called;
    OK(cuGraphAddHostNode(&called, graph, &copy, 1, &call));
    run(graph, 3);
    CHECK(calls == 3);
    for (int i = 0; i < COUNT; i++) CHECK(host[i] == 70);
    OK(cuMemcpyDtoH(host, b, BYTES));
    for (int i = 0; i < COUNT; i++) CHECK(host[i] == 3);
    OK(cuGraphDestroy(graph));
}

static void structure(void)
{
    CUgraph graph;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode nodes[4], list[8], to[8];
    for (int i = 0; i < 4; i++) OK(cuGraphAddEmptyNode(&nodes[i], graph, NULL, 0));
    CUgraphNode from[] = {nodes[0], nodes[0], nodes[1], nodes[2]},
                onto[] = {nodes[1], nodes[2], nodes[3], nodes[3]};
    OK(cuGraphAddDependencies(graph, from, onto, NULL, 4));
    FAILS(cuGraphAddDependencies(graph, from, onto, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphAddDependencies(graph, from, from, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    size_t count = 8;
    OK(cuGraphGetNodes(graph, list, &count));
    CHECK(count == 4 && list[0] == nodes[0] && list[3] == nodes[3] && !list[4] && !list[7]);
    count = 0;
    OK(cuGraphGetRootNodes(graph, NULL, &count));
    CHECK(count == 1);
    count = 8;
    OK(cuGraphGetEdges(graph, list, to, NULL, &count));
    CHECK(count == 4);
    count = 8;
    OK(cuGraphNodeGetDependencies(nodes[3], list, NULL, &count));
    CHECK(count == 2 && list[0] == nodes[1] && list[1] == nodes[2]);
    count = 1; /* less room than there is */
    OK(cuGraphNodeGetDependentNodes(nodes[0], list, NULL, &count));
    CHECK(count == 1 && list[0] == nodes[1]);
    OK(cuGraphRemoveDependencies(graph, &from[1], &onto[1], NULL, 1));
    FAILS(cuGraphRemoveDependencies(graph, &from[1], &onto[1], NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroyNode(nodes[1]));
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    CHECK(count == 1);
    CUgraphNodeType type;
    OK(cuGraphNodeGetType(nodes[0], &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_EMPTY);
    /* A cycle is found when the graph is instantiated. */
    OK(cuGraphAddDependencies(graph, &nodes[3], &nodes[2], NULL, 1));
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {0};
    FAILS(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphInstantiateWithParams(&exec, graph, &parameters), CUDA_ERROR_INVALID_VALUE);
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    CHECK(parameters.hErrNode_out == nodes[2] || parameters.hErrNode_out == nodes[3]);
    CUgraph other;
    CUgraphNode foreign, twice[] = {nodes[0], nodes[0]};
    OK(cuGraphCreate(&other, 0));
    OK(cuGraphAddEmptyNode(&foreign, other, NULL, 0));
    FAILS(cuGraphAddEmptyNode(&list[0], graph, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphAddEmptyNode(&list[0], graph, twice, 2), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphAddEmptyNode(&list[0], graph, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(other));
    OK(cuGraphDestroy(graph));
    FAILS(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
}

static void parameters(void)
{
    CUgraph graph;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode node = add_affine(graph, NULL, 0, b, a, 2, 3);
    CUDA_KERNEL_NODE_PARAMS kernel;
    OK(cuGraphKernelNodeGetParams(node, &kernel));
    CHECK(kernel.func == affine && kernel.gridDimX == COUNT / 128 && kernel.blockDimX == 128 &&
          !kernel.extra);
    CHECK(*(CUdeviceptr *)kernel.kernelParams[0] == b && *(float *)kernel.kernelParams[4] == 3);
    float bias = 5;
    void *changed[] = {kernel.kernelParams[0], kernel.kernelParams[1], kernel.kernelParams[2],
                       kernel.kernelParams[3], &bias};
    kernel.kernelParams = changed;
    OK(cuGraphKernelNodeSetParams(node, &kernel));
    OK(cuGraphKernelNodeGetParams(node, &kernel));
    CHECK(*(float *)kernel.kernelParams[3] == 2 && *(float *)kernel.kernelParams[4] == 5);

    CUgraphNode set = add_set(graph, NULL, 0, a, 4),
                copy = add_copy(graph, &node, 1, (CUdeviceptr)host, b, BYTES);
    CUDA_MEMSET_NODE_PARAMS fill;
    OK(cuGraphMemsetNodeGetParams(set, &fill));
    CHECK(fill.dst == a && fill.width == COUNT && fill.elementSize == 4);
    float six = 6;
    memcpy(&fill.value, &six, sizeof six);
    OK(cuGraphMemsetNodeSetParams(set, &fill));
    CUDA_MEMCPY3D got;
    OK(cuGraphMemcpyNodeGetParams(copy, &got));
    CHECK(got.srcDevice == b && got.WidthInBytes == BYTES);
    got.WidthInBytes = BYTES / 2;
    OK(cuGraphMemcpyNodeSetParams(copy, &got));
    FAILS(cuGraphMemcpyNodeGetParams(set, &got), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddDependencies(graph, &set, &node, NULL, 1));
    memset(host, 0, BYTES);
    run(graph, 1);
    CHECK(host[0] == 17 && host[COUNT / 2 - 1] == 17 && host[COUNT / 2] == 0);

    CUDA_KERNEL_NODE_PARAMS bad = {
        .func = affine, .gridDimX = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
    FAILS(cuGraphAddKernelNode(&node, graph, NULL, 0, &bad), CUDA_ERROR_INVALID_VALUE);
    fill.elementSize = 3;
    FAILS(cuGraphMemsetNodeSetParams(set, &fill), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(graph));
}

/* Events recorded in a graph are waited for outside it, and the other way round. */
static void events(void)
{
    CUstream other;
    CUevent first, second, got;
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&second, CU_EVENT_DEFAULT));
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode wait, record;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, second));
    OK(cuGraphEventWaitNodeSetEvent(wait, first));
    OK(cuGraphEventWaitNodeGetEvent(wait, &got));
    CHECK(got == first);
    CUgraphNode kernel = add_affine(graph, &wait, 1, b, a, 2, 0);
    OK(cuGraphAddEventRecordNode(&record, graph, &kernel, 1, second));
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 1; i <= 4; i++) {
        float value = (float)i;
        unsigned bits;
        memcpy(&bits, &value, sizeof bits);
        OK(cuMemsetD32Async(a, bits, COUNT, other));
        OK(cuEventRecord(first, other));
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamWaitEvent(other, second, 0));
        OK(cuMemcpyDtoHAsync(host, b, BYTES, other));
        OK(cuStreamSynchronize(other));
        CHECK(host[0] == 2 * value && host[COUNT - 1] == 2 * value);
        OK(cuEventSynchronize(second));
    }
    OK(cuGraphDestroy(graph));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuEventDestroy(first));
    OK(cuEventDestroy(second));
    OK(cuStreamDestroy(other));
}

/* The one call for nodes of all types. */
static void any_node(void)
{
    static int calls;
    CUgraph graph, child;
    CUcontext context;
    CUevent event;
    OK(cuCtxGetCurrent(&context));
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&child, 0));
    add_affine(child, NULL, 0, b, a, 1, 1);
    CUgraphNodeParams set = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    set.memset.dst = a;
    set.memset.elementSize = 4;
    set.memset.width = COUNT;
    set.memset.height = 1;
    set.memset.ctx = context;
    CUgraphNodeParams inner = {.type = CU_GRAPH_NODE_TYPE_GRAPH}, copy = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    inner.graph.graph = child;
    copy.memcpy.copyCtx = context;
    copy.memcpy.copyParams = line((CUdeviceptr)host, b, BYTES);
    CUgraphNodeParams host_node = {.type = CU_GRAPH_NODE_TYPE_HOST},
                      record = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};
    host_node.host.fn = add_one;
    host_node.host.userData = &calls;
    record.eventRecord.event = event;
    CUgraphNode nodes[5];
    CUgraphNodeParams *all[] = {&set, &inner, &copy, &host_node, &record};
    for (int i = 0; i < 5; i++)
        OK(cuGraphAddNode(&nodes[i], graph, i ? &nodes[i - 1] : NULL, NULL, i > 0, all[i]));
    OK(cuGraphDestroy(child));
    float two = 2;
    memcpy(&set.memset.value, &two, sizeof two);
    OK(cuGraphNodeSetParams(nodes[0], &set));
    FAILS(cuGraphNodeSetParams(nodes[0], &copy), CUDA_ERROR_INVALID_VALUE);
    run(graph, 1);
    CHECK(calls == 1 && host[0] == 3 && host[COUNT - 1] == 3);
    OK(cuEventSynchronize(event));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy(event));
}

static void attributes(void)
{
    CUgraph graph;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode one = add_affine(graph, NULL, 0, b, a, 1, 0), two = add_affine(graph, NULL, 0, b, a, 1, 0);
    CUkernelNodeAttrValue value = {.priority = -1}, got;
    OK(cuGraphKernelNodeSetAttribute(one, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value));
    OK(cuGraphKernelNodeCopyAttributes(two, one));
    OK(cuGraphKernelNodeGetAttribute(two, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &got));
    CHECK(got.priority == -1);
    OK(cuGraphDestroy(graph));
}

int main(void)
{
    CUdevice device = start();
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    OK(cuMemAlloc(&a, BYTES));
    OK(cuMemAlloc(&b, 2 * BYTES));
    OK(cuMemAllocHost((void **)&host, BYTES));
    OK(cuMemsetD8(a, 0, BYTES));
    OK(cuCtxSynchronize()); /* of the legacy stream, which the other one does not wait for */
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    diamond();
    structure();
    parameters();
    events();
    any_node();
    attributes();
    OK(cuStreamDestroy(stream));
    OK(cuMemFreeHost(host));
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    OK(cuModuleUnload(module));
    finish(device);
    return 0;
}
