/* Graphs that are changed after they were instantiated: each launch finds on the device what the nodes touch
 * by then, and nothing else is fetched for it. As test_graphs.c, under check_launches.py.
 */
#include "graph_blocks.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updated_as_a_whole),      cmocka_unit_test(updated_in_another_order),
        cmocka_unit_test(with_nodes_that_are_set), cmocka_unit_test(with_disabled_nodes),
        cmocka_unit_test(made_twice_of_one_graph), cmocka_unit_test(that_names_freed_memory),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
