/* Graphs, over memory that is several times the budget: whatever way a graph came by its nodes, each launch
 * finds on the device what its nodes touch. The results are compared, and the software device's own
 * statistics show at exit whether any node had to read a block in place (check_launches.py).
 *
 * usage: test-graphs [oversize | memory | steady LAUNCHES]
 */
#include "graph_blocks.h"

#include <stdlib.h>

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

/* The graph's own memory is the driver's business, beside memory of ours. */
static void with_memory_nodes(void)
{
    CUgraph graph;
    CUgraphNode nodes[4];
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                         .bytesize = 4 * MIB};
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
    for (int b = BLOCKS - 1; b > 4; b--) ok(cuMemsetD32Async(blocks[b], 0, WORDS, stream)); /* no room left */
    ok(cuMemsetD32Async(blocks[4], 77, WORDS, stream));
    CUgraphExec exec = ready(graph);
    for (int i = 0; i < 3; i++) {
        ok(cuMemsetD32Async(blocks[4], 0, MIB / 4, stream));
        ok(cuCtxSynchronize());
        ok(cuGraphLaunch(exec, stream));
    }
    for (int b = 5; b < BLOCKS; b++) expected[b] = 0;
    expected[4] = 77;
    compare();
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
    ok(cuDeviceGraphMemTrim(0));
}

/* Allocating in stream order while the stream captures makes no nodes. */
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

/* The end of a capture in another context is not the end of this one: what it would enqueue for launches that
 * are only captured would make the graph invalid. */
static void captured_beside_another_context(void **state)
{
    (void)state;
    CUcontext other;
    CUstream others;
    CUgraph graph, empty;
    ok(cuCtxCreate(&other, NULL, 0, 0));
    ok(cuStreamCreate(&others, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture(others, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuCtxSetCurrent(context));
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuCtxSetCurrent(other));
    ok(cuStreamEndCapture(others, &empty));
    ok(cuCtxSetCurrent(context));
    for (int b = 0; b < BLOCKS; b++) ok(cuMemsetD32Async(blocks[b], 1, WORDS, stream));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuGraphDestroy(empty));
    ok(cuCtxDestroy(other));
    ok(cuCtxSetCurrent(context));
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
        cmocka_unit_test(instantiated_in_every_way),
        cmocka_unit_test(instantiated_during_a_capture),
        cmocka_unit_test(captured_beside_another_context),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
