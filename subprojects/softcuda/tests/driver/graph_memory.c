/* Breaks if memory that graphs allocate is not there while it should be, or its rules are not kept. */
#include <sched.h>
#include <stdbool.h>

#include "check.h"

#define COUNT 4096
#define BYTES (COUNT * sizeof(unsigned))

static CUstream stream;
static CUcontext context;
static CUdevice device;
static unsigned *host; /* pinned */

static CUDA_MEM_ALLOC_NODE_PARAMS wanted(size_t bytes)
{
    return (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}},
        .bytesize = bytes};
}

static CUgraphNode add_set(CUgraph graph, CUgraphNode after, CUdeviceptr to, unsigned value)
{
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS set = {.dst = to, .value = value, .elementSize = 4, .width = COUNT, .height = 1};
    OK(cuGraphAddMemsetNode(&node, graph, &after, 1, &set, context));
    return node;
}

static CUgraphNode add_copy(CUgraph graph, CUgraphNode after, void *to, CUdeviceptr from)
{
    CUgraphNode node;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = from,
                          .srcPitch = BYTES,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to,
                          .dstPitch = BYTES,
                          .WidthInBytes = BYTES,
                          .Height = 1,
                          .Depth = 1};
    OK(cuGraphAddMemcpyNode(&node, graph, &after, 1, &copy, context));
    return node;
}

/* alloc -> set; the address comes back. */
static CUgraph make(CUdeviceptr *memory, CUgraphNode *last, unsigned value)
{
    CUgraph graph;
    CUgraphNode allocated;
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = wanted(BYTES), got;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&allocated, graph, NULL, 0, &parameters));
    CHECK(parameters.dptr);
    OK(cuGraphMemAllocNodeGetParams(allocated, &got));
    CHECK(got.dptr == parameters.dptr && got.bytesize == BYTES);
    *memory = parameters.dptr;
    *last = add_set(graph, allocated, *memory, value);
    return graph;
}

static void freed_inside(void)
{
    CUdeviceptr memory, got;
    CUgraphNode last, freed, again;
    CUgraphExec exec, second;
    CUgraph graph = make(&memory, &last, 11), clone;
    last = add_copy(graph, last, host, memory);
    OK(cuGraphAddMemFreeNode(&freed, graph, &last, 1, memory));
    OK(cuGraphMemFreeNodeGetParams(freed, &got));
    CHECK(got == memory);
    FAILS(cuGraphAddMemFreeNode(&again, graph, &freed, 1, memory), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuGraphRemoveDependencies(graph, &last, &freed, NULL, 1), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuGraphInstantiate(&exec, graph, 0));
    FAILS(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_NOT_SUPPORTED);
    for (int i = 0; i < 3; i++) {
        memset(host, 0, BYTES);
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        CHECK(host[0] == 11 && host[COUNT - 1] == 11);
    }
    FAILS(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* Memory that a graph leaves is freed by a stream, by cuMemFree, by another graph or by the next launch. */
static void freed_outside(void)
{
    CUdeviceptr memory;
    CUgraphNode last, freed;
    CUgraphExec exec, freeing;
    CUgraph graph = make(&memory, &last, 22), other;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuMemcpyDtoHAsync(host, memory, BYTES, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(host[0] == 22 && host[COUNT - 1] == 22);
    FAILS(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE); /* it is there already */
    OK(cuMemFreeAsync(memory, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree(memory));
    OK(cuGraphCreate(&other, 0));
    OK(cuGraphAddMemFreeNode(&freed, other, NULL, 0, memory));
    OK(cuGraphInstantiate(&freeing, other, 0));
    for (int i = 0; i < 2; i++) {
        OK(cuGraphLaunch(exec, stream));
        OK(cuGraphLaunch(freeing, stream));
    }
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(freeing));
    OK(cuGraphDestroy(other));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    for (int i = 0; i < 3; i++) OK(cuGraphLaunch(exec, stream));
    OK(cuMemcpyDtoHAsync(host, memory, BYTES, stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph)); /* the memory stays until it is freed */
    OK(cuMemFreeAsync(memory, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(host[COUNT - 1] == 22);
}

static void captured(void)
{
    CUdeviceptr memory;
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&memory, BYTES, stream));
    OK(cuMemsetD32Async(memory, 33, COUNT, stream));
    OK(cuMemcpyDtoHAsync(host, memory, BYTES, stream));
    OK(cuMemFreeAsync(memory, stream));
    OK(cuStreamEndCapture(stream, &graph));
    CUgraphNode nodes[8];
    CUgraphNodeType first, last;
    size_t count = 8;
    OK(cuGraphGetNodes(graph, nodes, &count));
    CHECK(count == 4);
    OK(cuGraphNodeGetType(nodes[0], &first));
    OK(cuGraphNodeGetType(nodes[3], &last));
    CHECK(first == CU_GRAPH_NODE_TYPE_MEM_ALLOC && last == CU_GRAPH_NODE_TYPE_MEM_FREE);
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        memset(host, 0, BYTES);
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        CHECK(host[0] == 33 && host[COUNT - 1] == 33);
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void descriptions(void)
{
    CUgraph graph, parent;
    CUgraphNode node;
    CUdeviceptr ordinary;
    OK(cuGraphCreate(&graph, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS bad = wanted(BYTES);
    bad.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    FAILS(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &bad), CUDA_ERROR_INVALID_VALUE);
    bad = wanted(BYTES);
    bad.poolProps.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    FAILS(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &bad), CUDA_ERROR_INVALID_VALUE);
    bad = wanted((size_t)-1);
    FAILS(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &bad), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&ordinary, BYTES));
    FAILS(cuGraphAddMemFreeNode(&node, graph, NULL, 0, ordinary), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphAddMemFreeNode(&node, graph, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(ordinary));
    CUDA_MEM_ALLOC_NODE_PARAMS good = wanted(BYTES);
    OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &good));
    OK(cuGraphCreate(&parent, 0));
    CUgraphNode child;
    FAILS(cuGraphAddChildGraphNode(&child, parent, NULL, 0, graph), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuGraphDestroyNode(node), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuGraphDestroy(parent));
    OK(cuGraphDestroy(graph));
}

static cuuint64_t attribute(CUgraphMem_attribute name)
{
    cuuint64_t value = ~(cuuint64_t)0;
    OK(cuDeviceGetGraphMemAttribute(device, name, &value));
    return value;
}

static void attributes(void)
{
    CUdeviceptr memory;
    CUgraphNode last;
    CUgraphExec exec;
    cuuint64_t zero = 0;
    CUgraph graph = make(&memory, &last, 1);
    OK(cuDeviceGraphMemTrim(device));
    OK(cuDeviceSetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) >= BYTES);
    CHECK(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= BYTES);
    OK(cuMemFree(memory));
    CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
    CHECK(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) >= BYTES);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuDeviceGraphMemTrim(device));
    CHECK(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
    FAILS(cuDeviceSetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero),
          CUDA_ERROR_INVALID_VALUE);
}

#define PART ((size_t)4 << 20)
#define PARTS 6

/* A graph that allocates, sets and frees `bytes` bytes. */
static CUgraphExec passing(size_t bytes)
{
    CUgraph graph;
    CUgraphNode allocated, set, freed;
    CUgraphExec exec;
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = wanted(bytes);
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&allocated, graph, NULL, 0, &parameters));
    set = add_set(graph, allocated, parameters.dptr, 5);
    OK(cuGraphAddMemFreeNode(&freed, graph, &set, 1, parameters.dptr));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

static cuuint64_t reserved(void)
{
    return attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
}

/* What runs one after another shares its memory, whatever else is not done. */
static void shared(void)
{
    CUgraphExec execs[PARTS], large;
    CUstream beside, third;
    CUdeviceptr other;
    OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&other, BYTES));
    OK(cuMemsetD32Async(other, 1, COUNT, third)); /* nobody waits for it */
    OK(cuDeviceGraphMemTrim(device));
    CHECK(reserved() == 0);
    for (int i = 0; i < PARTS; i++) execs[i] = passing(PART);
    large = passing(3 * PART);
    for (int i = 0; i < PARTS; i++) OK(cuGraphLaunch(execs[i], stream));
    CHECK(reserved() == PART);
    OK(cuStreamSynchronize(stream));
    OK(cuGraphLaunch(execs[0], stream));
    OK(cuGraphLaunch(large, stream)); /* what there is, and more */
    CHECK(reserved() == 3 * PART);
    OK(cuGraphLaunch(execs[1], stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphLaunch(execs[2], beside)); /* it is done, so in another stream, too */
    OK(cuStreamSynchronize(beside));
    CHECK(reserved() == 3 * PART);
    for (int i = 0; i < PARTS; i++) OK(cuGraphExecDestroy(execs[i]));
    OK(cuGraphExecDestroy(large));
    OK(cuDeviceGraphMemTrim(device));
    CHECK(reserved() == 0);
    OK(cuStreamDestroy(beside));
    OK(cuStreamDestroy(third));
    OK(cuMemFree(other));
}

static void hold(void *open)
{
    while (!__atomic_load_n((bool *)open, __ATOMIC_ACQUIRE)) sched_yield();
}

/* What may run at once does not; nor does memory that is in use, or whose free was not reached. */
static void kept_apart(void)
{
    bool open = false;
    CUdeviceptr left;
    CUgraphNode last;
    CUgraphExec first = passing(PART), second = passing(PART), leaving;
    CUstream beside;
    OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    OK(cuDeviceGraphMemTrim(device));
    OK(cuLaunchHostFunc(stream, hold, &open));
    OK(cuGraphLaunch(first, stream));
    OK(cuGraphLaunch(second, beside));
    CHECK(reserved() == 2 * PART);
    OK(cuStreamSynchronize(beside));
    OK(cuDeviceGraphMemTrim(device)); /* only what is done */
    CHECK(reserved() == PART);
    __atomic_store_n(&open, true, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(stream));
    CUgraph graph = make(&left, &last, 3);
    OK(cuGraphInstantiate(&leaving, graph, 0));
    OK(cuGraphLaunch(leaving, stream)); /* takes a part of what is there, and keeps it */
    CHECK(reserved() == PART);
    OK(cuGraphLaunch(first, stream));
    CHECK(reserved() == PART + BYTES);
    OK(cuMemFreeAsync(left, stream));
    OK(cuGraphLaunch(second, stream));
    CHECK(reserved() == PART + BYTES);
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(first));
    OK(cuGraphExecDestroy(second));
    OK(cuGraphExecDestroy(leaving));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(beside));
    OK(cuDeviceGraphMemTrim(device));
    CHECK(reserved() == 0);
}

int main(void)
{
    device = start();
    OK(cuCtxGetCurrent(&context));
    OK(cuMemAllocHost((void **)&host, BYTES));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    freed_inside();
    freed_outside();
    captured();
    descriptions();
    attributes();
    shared();
    kept_apart();
    OK(cuStreamDestroy(stream));
    OK(cuMemFreeHost(host));
    finish(device);
    return 0;
}
