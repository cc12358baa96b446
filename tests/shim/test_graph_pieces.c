/* Graphs that touch several times the budget: breaks if a node runs before what it depends on, or as it was
 * before it was changed, if launches of one graph overtake each other, or if what a piece touches is used in
 * place (check_launches.py).
 *
 * usage: test-graph-pieces [whole]
 */
#include "graph_blocks.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static CUstream other;

/* Adds `value` to every block, and copies the first one behind that to the last. */
static CUgraph adding(uint32_t value, CUgraphNode nodes[BLOCKS + 1])
{
    CUgraph graph = chain(0, BLOCKS, value, nodes);
    CUDA_MEMCPY3D copy = copy_of(BLOCKS - 1, 0);
    ok(cuGraphAddMemcpyNode(&nodes[BLOCKS], graph, &nodes[BLOCKS - 1], 1, &copy, context));
    return graph;
}

static void expect_adding(uint32_t value)
{
    expect_added(0, BLOCKS, value);
    expected[BLOCKS - 1] = expected[0];
}

static void every_launch_is_the_whole_graph(void **state)
{
    (void)state;
    CUgraphNode nodes[BLOCKS + 1];
    CUgraph graph = adding(3, nodes);
    CUgraphExec exec = ready(graph);
    ok(cuGraphDestroy(graph));
    for (int i = 0; i < 6; i++) {
        ok(cuGraphLaunch(exec, stream));
        expect_adding(3);
        if (i == 2) compare();
    }
    ok(cuGraphExecDestroy(exec)); /* while it runs */
    compare();
}

static void depend(CUgraph graph, CUgraphNode from, CUgraphNode to)
{
#if CUDA_VERSION >= 13000
    ok(cuGraphAddDependencies(graph, &from, &to, NULL, 1));
#else
    ok(cuGraphAddDependencies(graph, &from, &to, 1));
#endif
}

/* The nodes are listed in the opposite order: what is copied on from block to block comes from the first. */
static void nodes_run_behind_what_they_depend_on(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode nodes[BLOCKS], empty;
    ok(cuGraphCreate(&graph, 0));
    for (int b = BLOCKS - 1; b > 0; b--) {
        CUDA_MEMCPY3D copy = copy_of(b, b - 1);
        ok(cuGraphAddMemcpyNode(&nodes[b], graph, NULL, 0, &copy, context));
    }
    CUDA_MEMSET_NODE_PARAMS set = set_of(0, 41);
    ok(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &set, context));
    ok(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
    depend(graph, nodes[0], empty);
    depend(graph, empty, nodes[1]);
    for (int b = 2; b < BLOCKS; b++) depend(graph, nodes[b - 1], nodes[b]);
    CUgraphExec exec = ready(graph);
    ok(cuGraphDestroy(graph));
    ok(cuGraphLaunch(exec, stream));
    for (int b = 0; b < BLOCKS; b++) expected[b] = 41;
    compare();
    ok(cuGraphExecDestroy(exec));
}

static void changed_nodes_do_what_they_were_set_to(void **state)
{
    (void)state;
    CUgraphNode nodes[BLOCKS + 1], set_node;
    CUgraph graph = adding(1, nodes);
    CUDA_MEMSET_NODE_PARAMS set = set_of(0, 7);
    ok(cuGraphAddMemsetNode(&set_node, graph, &nodes[BLOCKS], 1, &set, context));
    CUgraphExec exec = ready(graph);
    for (int cut = 0; cut < 2; cut++) { /* before the first launch, and then */
        struct kernel kernel;
        int b = 2 + cut;
        make_kernel(&kernel, b, 100);
        ok(cuGraphExecKernelNodeSetParams(exec, nodes[b], &kernel.node));
        make_packed_kernel(&kernel, b + 3, 200);
        CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
        any.kernel.func = kernel.node.func;
        any.kernel.gridDimX = kernel.node.gridDimX;
        any.kernel.gridDimY = any.kernel.gridDimZ = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
        any.kernel.blockDimX = kernel.node.blockDimX;
        any.kernel.extra = kernel.node.extra;
        ok(cuGraphExecNodeSetParams(exec, nodes[b + 3], &any));
        CUDA_MEMCPY3D copy = copy_of(BLOCKS - 2, b);
        ok(cuGraphExecMemcpyNodeSetParams(exec, nodes[BLOCKS], &copy, context));
        set = set_of(12 + cut, 70);
        ok(cuGraphExecMemsetNodeSetParams(exec, set_node, &set, context));
        ok(cuGraphNodeSetEnabled(exec, nodes[15], (unsigned)cut));
        ok(cuGraphLaunch(exec, stream));
        for (int i = 0; i < BLOCKS; i++) {
            bool first = i == 2 || i == 5, second = cut && (i == 3 || i == 6);
            expected[i] += first || second ? (i == 2 || i == 3 ? 100 : 200) : i == 15 ? (uint32_t)cut : 1;
        }
        expected[BLOCKS - 2] = expected[b];
        expected[12 + cut] = 70;
        compare();
    }
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
}

/* All nodes of a piece are made to touch what had to be split before. */
static void pieces_that_grow_are_cut_again(void **state)
{
    (void)state;
    enum { NODES = 24 };
    CUgraph graph;
    CUgraphNode nodes[NODES], last = NULL, beyond;
    ok(cuGraphCreate(&graph, 0));
    for (int i = 0; i < NODES; i++) nodes[i] = last = add_kernel(graph, last, 0, 1);
    for (int b = 0; b < BLOCKS; b++) last = beyond = add_kernel(graph, last, b, 2);
    CUgraphExec exec = ready(graph);
    (void)beyond;
    ok(cuGraphLaunch(exec, stream));
    expected[0] += NODES;
    expect_added(0, BLOCKS, 2);
    compare();
    for (int i = 0; i < NODES; i++) {
        struct kernel kernel;
        make_kernel(&kernel, i, 5);
        ok(cuGraphExecKernelNodeSetParams(exec, nodes[i], &kernel.node));
    }
    ok(cuGraphNodeSetEnabled(exec, nodes[7], 0));
    for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
    expect_added(0, BLOCKS, 14);
    expected[7] -= 10;
    compare();
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
}

static void an_update_is_of_all_pieces(void **state)
{
    (void)state;
    CUgraphNode nodes[BLOCKS + 1];
    CUgraph graph = adding(1, nodes), source = adding(9, nodes);
    CUgraphExec exec = ready(graph);
    CUgraphExecUpdateResultInfo info;
    ok(cuGraphDestroy(graph));
    for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
    expect_adding(2);
    ok(cuGraphExecUpdate(exec, source, &info));
    ok(cuGraphDestroy(source));
    for (int i = 0; i < 2; i++) ok(cuGraphLaunch(exec, stream));
    expect_adding(18);
    compare();
    ok(cuGraphExecDestroy(exec));
}

static void CUDA_CB wait_for(void *flag)
{
    while (!atomic_load((atomic_bool *)flag)) sched_yield();
}

/* A launch runs behind the one before it, also on another stream. Movements wait for neither, as work of a
 * third one waits for the host: else they would keep the order by chance. */
static void launches_do_not_overtake_each_other(void **state)
{
    (void)state;
    CUgraphNode nodes[BLOCKS + 1], set_node;
    CUgraph graph = adding(1, nodes);
    CUDA_MEMSET_NODE_PARAMS set = set_of(0, 0);
    ok(cuGraphAddMemsetNode(&set_node, graph, &nodes[BLOCKS], 1, &set, context));
    CUgraphExec exec = ready(graph);
    CUstream third;
    atomic_bool flag = false;
    ok(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
    ok(cuLaunchHostFunc(third, wait_for, &flag));
    for (uint32_t i = 1; i <= 4; i++) {
        set.value = i;
        ok(cuGraphExecMemsetNodeSetParams(exec, set_node, &set, context));
        ok(cuGraphLaunch(exec, i % 2 ? stream : other));
        expect_adding(1);
        expected[0] = i;
    }
    ok(cuStreamSynchronize(other));
    ok(cuStreamSynchronize(stream));
    atomic_store(&flag, true);
    compare();
    ok(cuStreamDestroy(third));
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(exec));
}

static void CUDA_CB count(void *number)
{
    ++*(int *)number;
}

/* What cannot be cut is one launch, with the same results. */
static void whole(void)
{
    CUgraphNode nodes[BLOCKS + 1], host;
    CUgraph graph = adding(1, nodes), child, inner;
    CUgraphExec execs[3];
    CUgraphExecUpdateResultInfo info;
    struct kernel kernel;
    int called = 0;
    CUDA_HOST_NODE_PARAMS function = {.fn = count, .userData = &called};
    execs[0] = ready(graph); /* whose nodes have two names after an update */
    ok(cuGraphExecUpdate(execs[0], graph, &info));
    make_kernel(&kernel, 3, 50);
    ok(cuGraphExecKernelNodeSetParams(execs[0], nodes[3], &kernel.node));
    ok(cuGraphLaunch(execs[0], stream));
    expect_adding(1);
    expected[3] += 49;
    ok(cuGraphCreate(&child, 0));
    ok(cuGraphAddChildGraphNode(&host, child, NULL, 0, graph));
    ok(cuGraphChildGraphNodeGetGraph(host, &inner));
    execs[1] = ready(child); /* one node of its own */
    ok(cuGraphLaunch(execs[1], stream));
    expect_adding(1);
    ok(cuGraphAddHostNode(&host, graph, &nodes[2], 1, &function));
    execs[2] = ready(graph);
    for (int i = 0; i < 2; i++) ok(cuGraphLaunch(execs[2], stream));
    expect_adding(2);
    compare();
    assert_int_equal(called, 2);
    for (int i = 0; i < 3; i++) ok(cuGraphExecDestroy(execs[i]));
    ok(cuGraphDestroy(child));
    ok(cuGraphDestroy(graph));
}

/* Captured, an executable graph is a child graph. */
static void captured(void)
{
    CUgraphNode nodes[BLOCKS + 1];
    CUgraph graph = adding(1, nodes), outer;
    CUgraphExec inner = ready(graph), exec;
    size_t count = 0;
    ok(cuGraphLaunch(inner, stream));
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuGraphLaunch(inner, stream));
    ok(cuStreamEndCapture(stream, &outer));
    ok(cuGraphGetNodes(outer, NULL, &count));
    assert_int_equal(count, 1);
    exec = ready(outer);
    ok(cuGraphLaunch(exec, stream));
    expect_adding(2);
    compare();
    ok(cuGraphExecDestroy(inner));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuGraphDestroy(outer));
}

static int load_two(void **state)
{
    return load(state) || cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
}

static int unload_two(void **state)
{
    return unload(state) || cuStreamDestroy(other);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "whole")) {
        if (load(NULL)) return 1;
        whole();
        captured();
        return unload(NULL) ? 1 : 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_launch_is_the_whole_graph),
        cmocka_unit_test(nodes_run_behind_what_they_depend_on),
        cmocka_unit_test(changed_nodes_do_what_they_were_set_to),
        cmocka_unit_test(pieces_that_grow_are_cut_again),
        cmocka_unit_test(an_update_is_of_all_pieces),
        cmocka_unit_test(launches_do_not_overtake_each_other),
    };
    return cmocka_run_group_tests(tests, load_two, unload_two);
}
