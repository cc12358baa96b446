/* Graphs, over memory that is several times the budget: whatever way a graph came by its nodes, each launch
 * finds on the device what its nodes touch. The results are compared, and the software device's own
 * statistics show at exit whether any node had to read a block in place (check_launches.py).
 *
 * usage: test-graphs [oversize | memory | steady LAUNCHES]
 */
#include "adder.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK (2 * MIB)
#define BLOCKS 24
#define FEW 3 /* blocks that the budget holds at once */
#define WORDS (BLOCK / sizeof(uint32_t))

static CUmodule module;
static CUfunction add;
static CUstream stream;
static CUcontext context;
static CUdeviceptr blocks[BLOCKS];
static uint32_t expected[BLOCKS];

static int load(void **state)
{
    if (use_device(state) || cuCtxGetCurrent(&context) || cuModuleLoadData(&module, adder_ptx) ||
        cuModuleGetFunction(&add, module, "add") || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
        return -1;
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemAlloc(&blocks[i], BLOCK) || cuMemsetD32(blocks[i], 0, WORDS)) return -1;
    return cuCtxSynchronize();
}

static int unload(void **state)
{
    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemFree(blocks[i])) return -1;
    return cuStreamDestroy(stream) || cuModuleUnload(module) ? -1 : 0;
}

/* A kernel node's parameters, and what they point to. */
struct kernel {
    CUDA_KERNEL_NODE_PARAMS node;
    struct arguments arguments;
    void *pointers[3];
    size_t bytes;
    void *extra[5];
};

static void make_kernel(struct kernel *kernel, int block, uint32_t value)
{
    *kernel = (struct kernel){.arguments = {blocks[block], WORDS, value}};
    kernel->pointers[0] = &kernel->arguments.data;
    kernel->pointers[1] = &kernel->arguments.count;
    kernel->pointers[2] = &kernel->arguments.value;
    kernel->node = (CUDA_KERNEL_NODE_PARAMS){.func = add,
                                             .gridDimX = WORDS / 256,
                                             .gridDimY = 1,
                                             .gridDimZ = 1,
                                             .blockDimX = 256,
                                             .blockDimY = 1,
                                             .blockDimZ = 1,
                                             .kernelParams = kernel->pointers};
}

static void make_packed_kernel(struct kernel *kernel, int block, uint32_t value)
{
    make_kernel(kernel, block, value);
    kernel->bytes = sizeof kernel->arguments;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &kernel->arguments, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &kernel->bytes, CU_LAUNCH_PARAM_END};
    memcpy(kernel->extra, extra, sizeof extra);
    kernel->node.kernelParams = NULL;
    kernel->node.extra = kernel->extra;
}

static CUDA_MEMSET_NODE_PARAMS set_of(int block, uint32_t value)
{
    return (CUDA_MEMSET_NODE_PARAMS){
        .dst = blocks[block], .elementSize = 4, .value = value, .width = WORDS, .height = 1};
}

static CUDA_MEMCPY3D copy_of(int to, int from)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = blocks[from],
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = blocks[to],
                           .WidthInBytes = BLOCK,
                           .Height = 1,
                           .Depth = 1};
}

/* Behind the nodes that the graph has. */
static CUgraphNode add_kernel(CUgraph graph, CUgraphNode after, int block, uint32_t value)
{
    struct kernel kernel;
    CUgraphNode node;
    make_kernel(&kernel, block, value);
    ok(cuGraphAddKernelNode(&node, graph, &after, after != NULL, &kernel.node));
    return node;
}

/* Adds `value` to `count` blocks from `first` on, one after the other. */
static CUgraph chain(int first, int count, uint32_t value, CUgraphNode *nodes)
{
    CUgraph graph;
    CUgraphNode last = NULL;
    ok(cuGraphCreate(&graph, 0));
    for (int i = 0; i < count; i++) {
        last = add_kernel(graph, last, first + i, value);
        if (nodes) nodes[i] = last;
    }
    return graph;
}

static void expect_added(int first, int count, uint32_t value)
{
    for (int i = first; i < first + count; i++) expected[i] += value;
}

static CUgraphExec ready(CUgraph graph)
{
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

/* Each block in its turn, so that what was changed a while ago has left the device. */
static void compare(void)
{
    static uint32_t seen[WORDS];
    ok(cuCtxSynchronize());
    for (int i = 0; i < BLOCKS; i++) {
        ok(cuMemcpyDtoH(seen, blocks[i], BLOCK));
        for (size_t w = 0; w < WORDS; w++)
            if (seen[w] != expected[i])
                fail_msg("block %d, word %zu: %u, not %u", i, w, seen[w], expected[i]);
    }
}

static void captured(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphExec execs[BLOCKS / FEW];
    for (int g = 0; g < BLOCKS / FEW; g++) {
        struct kernel kernel;
        int a = g * FEW;
        ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        make_kernel(&kernel, a, 1);
        ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, kernel.pointers, NULL));
        make_packed_kernel(&kernel, a, 2);
        ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, NULL, kernel.extra));
        ok(cuMemcpyDtoDAsync(blocks[a + 1], blocks[a], BLOCK, stream));
        ok(cuMemsetD32Async(blocks[a + 2], 7, WORDS, stream));
        ok(cuStreamEndCapture(stream, &graph));
        execs[g] = ready(graph);
        ok(cuGraphDestroy(graph));
    }
    for (int round = 0; round < 3; round++)
        for (int g = 0; g < BLOCKS / FEW; g++) {
            int a = g * FEW;
            ok(cuGraphLaunch(execs[g], stream));
            expected[a] += 3;
            expected[a + 1] = expected[a];
            expected[a + 2] = 7;
        }
    compare();
    for (int g = 0; g < BLOCKS / FEW; g++) ok(cuGraphExecDestroy(execs[g]));
}

static void with_explicit_nodes(void **state)
{
    (void)state;
    CUgraphExec execs[BLOCKS / FEW];
    for (int g = 0; g < BLOCKS / FEW; g++) {
        struct kernel kernel;
        CUgraph graph;
        CUgraphNode nodes[3];
        int a = g * FEW;
        CUDA_MEMSET_NODE_PARAMS set = set_of(a, 11);
        CUDA_MEMCPY3D copy = copy_of(a + 1, a);
        ok(cuGraphCreate(&graph, 0));
        ok(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &set, context));
        make_packed_kernel(&kernel, a, 2);
        ok(cuGraphAddKernelNode(&nodes[1], graph, nodes, 1, &kernel.node));
        ok(cuGraphAddMemcpyNode(&nodes[2], graph, nodes, 2, &copy, context));
        add_kernel(graph, NULL, a + 2, 5);
        execs[g] = ready(graph);
        ok(cuGraphDestroy(graph));
    }
    for (int round = 0; round < 3; round++)
        for (int g = 0; g < BLOCKS / FEW; g++) {
            int a = g * FEW;
            ok(cuGraphLaunch(execs[g], stream));
            expected[a] = expected[a + 1] = 13;
            expected[a + 2] += 5;
        }
    compare();
    for (int g = 0; g < BLOCKS / FEW; g++) ok(cuGraphExecDestroy(execs[g]));
}

/* A child graph in a child graph, then other child graphs in their place. */
static void with_child_graphs(void **state)
{
    (void)state;
    CUgraph inner = chain(2, 1, 1, NULL), middle = chain(1, 1, 1, NULL), outer = chain(0, 1, 1, NULL);
    CUgraphNode in_middle, in_outer;
    ok(cuGraphAddChildGraphNode(&in_middle, middle, NULL, 0, inner));
    ok(cuGraphAddChildGraphNode(&in_outer, outer, NULL, 0, middle));
    CUgraphExec exec = ready(outer);
    ok(cuGraphLaunch(exec, stream));
    expect_added(0, 3, 1);
    compare();
    for (int first = 3; first + 2 <= BLOCKS; first += 2) {
        CUgraph innermost = chain(first + 1, 1, 4, NULL), other = chain(first, 1, 4, NULL);
        CUgraphNode node;
        ok(cuGraphAddChildGraphNode(&node, other, NULL, 0, innermost));
        ok(cuGraphExecChildGraphNodeSetParams(exec, in_outer, other));
        ok(cuGraphDestroy(innermost));
        ok(cuGraphDestroy(other));
        for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
        expect_added(0, 1, 2);
        expect_added(first, 2, 8);
    }
    compare();
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(inner));
    ok(cuGraphDestroy(middle));
    ok(cuGraphDestroy(outer));
}

static void updated_as_a_whole(void **state)
{
    (void)state;
    CUgraphExec exec = NULL;
    CUgraphExecUpdateResultInfo info;
    for (int round = 0; round < 2; round++)
        for (int first = 0; first < BLOCKS; first += FEW) {
            CUgraph graph = chain(first, FEW, 9, NULL);
            if (!exec)
                exec = ready(graph);
            else
                ok(cuGraphExecUpdate(exec, graph, &info));
            ok(cuGraphDestroy(graph));
            for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
            expect_added(first, FEW, 18);
        }
    compare();
    /* A refused update changes nothing. */
    CUgraph longer = chain(0, FEW + 1, 1, NULL);
    assert_int_not_equal(cuGraphExecUpdate(exec, longer, &info), CUDA_SUCCESS);
    ok(cuGraphLaunch(exec, stream));
    expect_added(BLOCKS - FEW, FEW, 9);
    compare();
    ok(cuGraphDestroy(longer));
    ok(cuGraphExecDestroy(exec));
}

/* Whichever of its nodes the driver takes for which: the kinds are in another order. */
static void updated_in_another_order(void **state)
{
    (void)state;
    CUgraph graph, other;
    CUgraphNode set_node, kernel_node;
    CUgraphExecUpdateResultInfo info;
    CUDA_MEMSET_NODE_PARAMS set = set_of(0, 1);
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemsetNode(&set_node, graph, NULL, 0, &set, context));
    kernel_node = add_kernel(graph, set_node, 1, 3);
    CUgraphExec exec = ready(graph);
    ok(cuGraphLaunch(exec, stream));
    expected[0] = 1;
    expected[1] += 3;
    for (int first = 2; first + 2 <= BLOCKS; first += 2) {
        CUgraphNode behind, before;
        ok(cuGraphCreate(&other, 0));
        behind = add_kernel(other, NULL, first, 5);
        set = set_of(first + 1, 6);
        ok(cuGraphAddMemsetNode(&before, other, NULL, 0, &set, context));
#if CUDA_VERSION >= 13000
        ok(cuGraphAddDependencies(other, &before, &behind, NULL, 1));
#else
        ok(cuGraphAddDependencies(other, &before, &behind, 1));
#endif
        ok(cuGraphExecUpdate(exec, other, &info));
        ok(cuGraphDestroy(other));
        for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
        expected[first] += 10;
        expected[first + 1] = 6;
    }
    compare();
    /* Nodes can be set one by one as before. */
    struct kernel kernel;
    make_kernel(&kernel, 7, 100);
    ok(cuGraphExecKernelNodeSetParams(exec, kernel_node, &kernel.node));
    set = set_of(5, 40);
    ok(cuGraphExecMemsetNodeSetParams(exec, set_node, &set, context));
    ok(cuGraphLaunch(exec, stream));
    expected[7] += 100;
    expected[5] = 40;
    compare();
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
}

static void with_nodes_that_are_set(void **state)
{
    (void)state;
    CUgraph graph = chain(0, 1, 1, NULL);
    CUgraphNode kernel_node, set_node, copy_node;
    CUDA_MEMSET_NODE_PARAMS set = set_of(1, 21);
    CUDA_MEMCPY3D copy = copy_of(2, 1);
    ok(cuGraphDestroy(graph));
    graph = chain(0, 1, 1, &kernel_node);
    ok(cuGraphAddMemsetNode(&set_node, graph, &kernel_node, 1, &set, context));
    ok(cuGraphAddMemcpyNode(&copy_node, graph, &set_node, 1, &copy, context));
    CUgraphExec exec = ready(graph);
    for (int first = 0; first + FEW <= BLOCKS; first += FEW) {
        struct kernel kernel;
        make_packed_kernel(&kernel, first, 2);
        set = set_of(first + 1, 30 + (uint32_t)first);
        copy = copy_of(first + 2, first + 1);
        if (first % 2) {
            ok(cuGraphExecKernelNodeSetParams(exec, kernel_node, &kernel.node));
            ok(cuGraphExecMemsetNodeSetParams(exec, set_node, &set, context));
            ok(cuGraphExecMemcpyNodeSetParams(exec, copy_node, &copy, context));
        } else {
            make_kernel(&kernel, first, 2);
            CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
            any.kernel.func = add;
            any.kernel.gridDimX = WORDS / 256;
            any.kernel.gridDimY = any.kernel.gridDimZ = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
            any.kernel.blockDimX = 256;
            any.kernel.kernelParams = kernel.pointers;
            ok(cuGraphExecNodeSetParams(exec, kernel_node, &any));
            any = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET};
            any.memset.dst = set.dst;
            any.memset.elementSize = 4;
            any.memset.value = set.value;
            any.memset.width = set.width;
            any.memset.height = 1;
            any.memset.ctx = context;
            ok(cuGraphExecNodeSetParams(exec, set_node, &any));
            any = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY};
            any.memcpy.copyCtx = context;
            any.memcpy.copyParams = copy;
            ok(cuGraphExecNodeSetParams(exec, copy_node, &any));
        }
        for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
        expected[first] += 4;
        expected[first + 1] = expected[first + 2] = 30 + (uint32_t)first;
    }
    compare();
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
}

/* All nodes together touch more than the budget; those that are enabled do not. */
static void with_disabled_nodes(void **state)
{
    (void)state;
    CUgraphNode nodes[BLOCKS];
    CUgraph graph = chain(0, BLOCKS, 8, nodes);
    CUgraphExec exec = ready(graph);
    for (int i = 0; i < BLOCKS; i++) ok(cuGraphNodeSetEnabled(exec, nodes[i], 0));
    ok(cuGraphLaunch(exec, stream));
    for (int first = 0; first < BLOCKS; first += FEW) {
        for (int i = first; i < first + FEW; i++) ok(cuGraphNodeSetEnabled(exec, nodes[i], 1));
        for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
        for (int i = first; i < first + FEW; i++) ok(cuGraphNodeSetEnabled(exec, nodes[i], 0));
        expect_added(first, FEW, 16);
    }
    compare();
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
}

/* The graph's own memory is the driver's business, beside memory of ours. */
static void with_memory_nodes(void)
{
    CUgraph graph;
    CUgraphNode nodes[4];
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                         .bytesize = MIB};
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemAllocNode(&nodes[0], graph, NULL, 0, &memory));
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = memory.dptr, .elementSize = 4, .value = 77, .width = MIB / 4, .height = 1};
    ok(cuGraphAddMemsetNode(&nodes[1], graph, nodes, 1, &set, context));
    CUDA_MEMCPY3D copy = copy_of(4, 4);
    copy.srcDevice = memory.dptr;
    copy.WidthInBytes = MIB;
    ok(cuGraphAddMemcpyNode(&nodes[2], graph, &nodes[1], 1, &copy, context));
    ok(cuGraphAddMemFreeNode(&nodes[3], graph, &nodes[2], 1, memory.dptr));
    CUgraphExec exec = ready(graph);
    ok(cuMemsetD32Async(blocks[4], 77, WORDS, stream));
    for (int i = 0; i < 3; i++) {
        ok(cuMemsetD32Async(blocks[4], 0, MIB / 4, stream));
        ok(cuGraphLaunch(exec, stream));
    }
    expected[4] = 77;
    compare();
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
    ok(cuDeviceGraphMemTrim(0));
}

/* Allocating in stream order while the stream captures makes memory nodes, which are the driver's. */
static void with_captured_allocations(void)
{
    CUgraph graph;
    CUdeviceptr memory;
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuMemAllocAsync(&memory, MIB, stream));
    ok(cuMemsetD32Async(memory, 78, MIB / 4, stream));
    ok(cuMemcpyDtoDAsync(blocks[5], memory, MIB, stream));
    ok(cuMemcpyDtoDAsync(blocks[5] + MIB, blocks[5], MIB, stream));
    ok(cuMemFreeAsync(memory, stream));
    ok(cuStreamEndCapture(stream, &graph));
    CUgraphExec exec = ready(graph);
    for (int i = 0; i < 3; i++) ok(cuGraphLaunch(exec, stream));
    expected[5] = 78;
    compare();
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
    ok(cuDeviceGraphMemTrim(0));
}

/* Each executable keeps its own parameters, whatever becomes of the graph and of the others. */
static void made_twice_of_one_graph(void **state)
{
    (void)state;
    CUgraphNode node;
    CUgraph graph = chain(0, 1, 1, &node);
    CUgraphExec execs[BLOCKS];
    CUstream streams[4];
    for (int i = 0; i < 4; i++) ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < BLOCKS; i++) {
        struct kernel kernel;
        execs[i] = ready(graph);
        make_kernel(&kernel, i, 6);
        ok(cuGraphExecKernelNodeSetParams(execs[i], node, &kernel.node));
        ok(cuGraphUpload(execs[i], stream));
    }
    struct kernel last;
    make_kernel(&last, 0, 1000);
    ok(cuGraphKernelNodeSetParams(node, &last.node));
    ok(cuGraphDestroyNode(node));
    ok(cuGraphDestroy(graph));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < BLOCKS; i++) ok(cuGraphLaunch(execs[i], streams[i % 4]));
    expect_added(0, BLOCKS, 12);
    compare();
    for (int i = 0; i < BLOCKS; i += 2) ok(cuGraphExecDestroy(execs[i]));
    graph = chain(3, 1, 2, NULL);
    for (int i = 0; i < BLOCKS; i += 2) execs[i] = ready(graph); /* handles come back */
    for (int i = 0; i < BLOCKS; i++) ok(cuGraphLaunch(execs[i], stream));
    for (int i = 1; i < BLOCKS; i += 2) expected[i] += 6;
    expected[3] += 2 * BLOCKS / 2;
    compare();
    for (int i = 0; i < BLOCKS; i++) ok(cuGraphExecDestroy(execs[i]));
    for (int i = 0; i < 4; i++) ok(cuStreamDestroy(streams[i]));
    ok(cuGraphDestroy(graph));
}

static void instantiated_in_every_way(void **state)
{
    (void)state;
    CUresult (*first)(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
    CUresult (*second)(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
    CUresult (*with_params)(CUgraphExec *, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS *);
    ok(cuGetProcAddress("cuGraphInstantiate", (void **)&first, 10000, 0, NULL));
    ok(cuGetProcAddress("cuGraphInstantiate", (void **)&second, 11000, 0, NULL));
    ok(cuGetProcAddress("cuGraphInstantiateWithParams", (void **)&with_params, 12000,
                        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
    for (int b = 0; b < BLOCKS; b += FEW) {
        CUgraph graphs[FEW];
        CUgraphExec execs[FEW];
        CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {0};
        for (int i = 0; i < FEW; i++) graphs[i] = chain(b + i, 1, 3, NULL);
        ok(first(&execs[0], graphs[0], NULL, NULL, 0));
        ok(second(&execs[1], graphs[1], NULL, NULL, 0));
        ok(with_params(&execs[2], graphs[2], &parameters));
        for (int i = 0; i < FEW; i++) {
            ok(cuGraphLaunch(execs[i], stream));
            ok(cuGraphDestroy(graphs[i]));
            ok(cuGraphExecDestroy(execs[i]));
        }
    }
    expect_added(0, BLOCKS, 3);
    compare();
}

/* Instantiating asks for kernels' parameters, which must not end a capture. */
static void instantiated_during_a_capture(void **state)
{
    (void)state;
    CUgraph graph, other;
    struct kernel kernel;
    make_kernel(&kernel, 0, 1);
    ok(cuModuleUnload(module)); /* so that the kernel is not known any more */
    ok(cuModuleLoadData(&module, adder_ptx));
    ok(cuModuleGetFunction(&add, module, "add"));
    other = chain(1, 1, 1, NULL);
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, kernel.pointers, NULL));
    CUgraphExec inner = ready(other), exec;
    ok(cuGraphLaunch(inner, stream)); /* becomes a child graph */
    ok(cuStreamEndCapture(stream, &graph));
    exec = ready(graph);
    for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
    expect_added(0, 2, 2);
    compare();
    ok(cuGraphExecDestroy(inner));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(other));
    ok(cuGraphDestroy(graph));
}

/* A graph that names memory which was freed, and given out again elsewhere. */
static void that_names_freed_memory(void **state)
{
    (void)state;
    CUdeviceptr kept = blocks[9], others[4];
    CUgraphNode nodes[2];
    CUgraph graph = chain(9, 2, 1, nodes);
    CUgraphExec exec = ready(graph);
    ok(cuGraphNodeSetEnabled(exec, nodes[0], 0));
    ok(cuMemFree(kept));
    ok(cuGraphLaunch(exec, stream));
    for (int i = 0; i < 4; i++) ok(cuMemAlloc(&others[i], BLOCK));
    ok(cuGraphLaunch(exec, stream));
    struct kernel kernel;
    blocks[9] = others[3];
    ok(cuMemsetD32Async(blocks[9], 0, WORDS, stream));
    make_kernel(&kernel, 9, 4);
    ok(cuGraphExecKernelNodeSetParams(exec, nodes[0], &kernel.node));
    ok(cuGraphNodeSetEnabled(exec, nodes[0], 1));
    ok(cuGraphLaunch(exec, stream));
    expected[9] = 4;
    expected[10] += 3;
    compare();
    for (int i = 0; i < 3; i++) ok(cuMemFree(others[i]));
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
}

/* One graph that touches everything runs, in part in place. */
static void beyond_the_budget(void)
{
    CUgraph graph = chain(0, BLOCKS, 1, NULL);
    CUgraphExec exec = ready(graph);
    for (int i = 0; i < 4; i++) ok(cuGraphLaunch(exec, stream));
    expect_added(0, BLOCKS, 4);
    compare();
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
}

/* The same graphs over and over. */
static void again_and_again(int launches)
{
    CUgraphExec execs[BLOCKS / FEW];
    for (int g = 0; g < BLOCKS / FEW; g++) {
        CUgraph graph = chain(g * FEW, FEW, 1, NULL);
        execs[g] = ready(graph);
        ok(cuGraphDestroy(graph));
    }
    for (int i = 0; i < launches; i++) {
        for (int g = 0; g < BLOCKS / FEW; g++) ok(cuGraphLaunch(execs[g], stream));
        ok(cuStreamSynchronize(stream));
    }
    expect_added(0, BLOCKS, (uint32_t)launches);
    for (int g = 0; g < BLOCKS / FEW; g++) ok(cuGraphExecDestroy(execs[g]));
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        if (load(NULL)) return 1;
        if (!strcmp(argv[1], "oversize"))
            beyond_the_budget();
        else if (!strcmp(argv[1], "memory")) {
            with_memory_nodes();
            with_captured_allocations();
        } else
            again_and_again(argc > 2 ? atoi(argv[2]) : 10);
        return unload(NULL) ? 1 : 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured),
        cmocka_unit_test(with_explicit_nodes),
        cmocka_unit_test(with_child_graphs),
        cmocka_unit_test(updated_as_a_whole),
        cmocka_unit_test(updated_in_another_order),
        cmocka_unit_test(with_nodes_that_are_set),
        cmocka_unit_test(with_disabled_nodes),
        cmocka_unit_test(made_twice_of_one_graph),
        cmocka_unit_test(instantiated_in_every_way),
        cmocka_unit_test(instantiated_during_a_capture),
        cmocka_unit_test(that_names_freed_memory),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
