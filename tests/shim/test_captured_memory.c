/* Memory that a capture allocates: breaks if it has nodes, if it is given to somebody else while a graph may
 * still use it, if two branches of a graph get the same, if it is lost when no graph is left, or if what a
 * launch leaves in it is. What is asserted holds with and without sluice, but for what is said to be
 * sluice's.
 */
#include "adder.h"

#include <sched.h>

#define BYTES (2 * MIB)
#define WORDS (BYTES / sizeof(uint32_t))
#define MANY 8

static CUmodule module;
static CUfunction add;
static CUstream stream, other;
static CUdeviceptr result;
static size_t at_first; /* free */
static bool ours;

static size_t free_now(void)
{
    size_t free_bytes, total_bytes;
    ok(cuMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}

static int load(void **state)
{
    if (use_device(state) || cuModuleLoadData(&module, adder_ptx) ||
        cuModuleGetFunction(&add, module, "add") || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
        cuStreamCreate(&other, CU_STREAM_NON_BLOCKING))
        return -1;
    ours = managed_here(768 * MIB);
    if (cuMemAlloc(&result, BYTES)) return -1;
    at_first = free_now();
    return 0;
}

static int unload(void **state)
{
    (void)state;
    return cuMemFree(result) || cuStreamDestroy(stream) || cuStreamDestroy(other) || cuModuleUnload(module);
}

static void add_to(CUdeviceptr memory, uint32_t value, CUstream on)
{
    struct arguments arguments = {memory, WORDS, value};
    void *pointers[] = {&arguments.data, &arguments.count, &arguments.value};
    ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, on, pointers, NULL));
}

static void begin(void)
{
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static CUgraph end(void)
{
    CUgraph graph;
    ok(cuStreamEndCapture(stream, &graph));
    return graph;
}

static CUgraphExec ready(CUgraph graph)
{
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

static CUdeviceptr take(CUstream on)
{
    CUdeviceptr memory;
    ok(cuMemAllocAsync(&memory, BYTES, on));
    return memory;
}

static void expect(CUdeviceptr memory, uint32_t value)
{
    static uint32_t seen[WORDS];
    ok(cuMemcpyDtoHAsync(seen, memory, BYTES, stream));
    ok(cuStreamSynchronize(stream));
    for (size_t w = 0; w < WORDS; w++)
        if (seen[w] != value) fail_msg("word %zu: %u, not %u", w, seen[w], value);
}

/* A graph that puts `value` into `result` by memory of its own; *memory is where. */
static CUgraph through_memory(uint32_t value, CUdeviceptr *memory)
{
    begin();
    *memory = take(stream);
    ok(cuMemsetD32Async(*memory, value - 1, WORDS, stream));
    add_to(*memory, 1, stream);
    ok(cuMemcpyDtoDAsync(result, *memory, BYTES, stream));
    ok(cuMemFreeAsync(*memory, stream));
    return end();
}

/* Ours: until what has gone is free again, which a thread of the driver's says. */
static void wait_until_free(size_t bytes)
{
    ok(cuCtxSynchronize()); /* what was launched keeps it */
    while (ours && free_now() < bytes) sched_yield();
}

static void allocations_are_no_nodes(void **state)
{
    (void)state;
    size_t nodes = 0;
    CUdeviceptr memory;
    CUgraph graph = through_memory(5, &memory);
    ok(cuGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, ours ? 3 : 5);
    CUgraphExec exec = ready(graph);
    for (int i = 0; i < 3; i++) {
        ok(cuMemsetD32(result, 0, WORDS));
        ok(cuGraphLaunch(exec, stream));
        expect(result, 5);
    }
    assert_int_equal(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE); /* the graph's to free */
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    wait_until_free(at_first);
}

/* Freed memory serves again in the same graph behind the free, and nowhere else. */
static void what_is_freed_serves_again_behind_the_free(void **state)
{
    (void)state;
    CUevent fork, join;
    ok(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    ok(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    begin();
    CUdeviceptr first = take(stream);
    add_to(first, 1, stream);
    ok(cuEventRecord(fork, stream));
    ok(cuStreamWaitEvent(other, fork, 0));
    ok(cuMemFreeAsync(first, stream));
    CUdeviceptr beside = take(other), behind = take(stream), larger;
    assert_true(beside != first);
    if (ours) assert_int_equal(behind, first);
    ok(cuMemFreeAsync(behind, stream));
    ok(cuMemAllocAsync(&larger, BYTES + 1, stream));
    assert_true(larger != first);
    add_to(beside, 1, other);
    ok(cuMemFreeAsync(beside, other));
    ok(cuEventRecord(join, other));
    ok(cuStreamWaitEvent(stream, join, 0));
    ok(cuMemFreeAsync(larger, stream));
    CUgraph graph = end();
    ok(cuGraphDestroy(graph));

    begin();
    CUdeviceptr again = take(stream);
    add_to(again, 1, stream);
    ok(cuMemFreeAsync(again, stream));
#if CUDA_VERSION >= 13000
    ok(cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
#else
    ok(cuStreamUpdateCaptureDependencies(stream, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
#endif
    CUdeviceptr at_the_start = take(stream);
    assert_true(at_the_start != again);
    ok(cuMemFreeAsync(at_the_start, stream));
    ok(cuGraphDestroy(end()));
    ok(cuEventDestroy(fork));
    ok(cuEventDestroy(join));
    wait_until_free(at_first);
}

/* Fills so much memory that the graph's would be among it if it were free. */
static void fill_others(CUdeviceptr memory[MANY], uint32_t value)
{
    for (int i = 0; i < MANY; i++) {
        ok(cuMemAlloc(&memory[i], BYTES));
        ok(cuMemsetD32(memory[i], value, WORDS));
    }
    ok(cuCtxSynchronize());
}

static void check_others(const CUdeviceptr memory[MANY], uint32_t value)
{
    for (int i = 0; i < MANY; i++) expect(memory[i], value);
}

static void free_all(const CUdeviceptr memory[MANY])
{
    for (int i = 0; i < MANY; i++) ok(cuMemFree(memory[i]));
}

static void it_lasts_as_long_as_what_is_made_of_the_graph(void **state)
{
    (void)state;
    CUdeviceptr own, updated_by, others[MANY], late[MANY];
    CUgraph graph = through_memory(7, &own), source = through_memory(9, &updated_by), clone, parent;
    CUgraphNode child;
    CUgraphExecUpdateResultInfo info;
    CUgraphExec exec = ready(graph), updated = NULL, in_clone = NULL, in_child = NULL;
    if (ours) { /* the driver neither clones nor updates memory nodes */
        updated = ready(graph);
        ok(cuGraphExecUpdate(updated, source, &info));
        ok(cuGraphClone(&clone, graph));
        in_clone = ready(clone);
        ok(cuGraphDestroy(clone));
        ok(cuGraphCreate(&parent, 0));
        ok(cuGraphAddChildGraphNode(&child, parent, NULL, 0, source));
        in_child = ready(parent);
        ok(cuGraphDestroy(parent));
    }
    ok(cuGraphDestroy(graph));
    ok(cuGraphDestroy(source));
    fill_others(others, 3);
    CUgraphExec execs[] = {exec, in_clone, updated, in_child};
    for (int e = 0; e < (ours ? 4 : 1); e++) {
        ok(cuGraphLaunch(execs[e], stream));
        expect(result, e < 2 ? 7 : 9);
        ok(cuGraphExecDestroy(execs[e]));
        if (e == 1) fill_others(late, 3);
    }
    check_others(others, 3);
    free_all(others);
    if (ours) {
        check_others(late, 3);
        free_all(late);
    }
    wait_until_free(at_first);
}

static void an_abandoned_capture_gives_it_back(void **state)
{
    (void)state;
    CUgraph graph;
    begin();
    take(stream);
    assert_int_not_equal(cuStreamSynchronize(stream), CUDA_SUCCESS); /* ends it */
    CUdeviceptr memory;
    assert_int_not_equal(cuMemAllocAsync(&memory, BYTES, stream), CUDA_SUCCESS);
    assert_int_not_equal(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    wait_until_free(at_first);
}

/* What the graph does not free is the program's until that does; each launch allocates it again. */
static void what_a_launch_leaves_is_the_programs(void **state)
{
    (void)state;
    CUdeviceptr others[MANY];
    begin();
    CUdeviceptr memory = take(stream), never = take(stream);
    ok(cuMemsetD32Async(memory, 20, WORDS, stream));
    add_to(memory, 1, stream);
    ok(cuMemFreeAsync(never, stream));
    CUgraph graph = end();
    CUgraphExec exec = ready(graph);
    for (int i = 0; i < 2; i++) {
        ok(cuGraphLaunch(exec, stream));
        add_to(memory, 1, stream);
        expect(memory, 22);
        ok(i ? cuMemFree(memory) : cuMemFreeAsync(memory, stream));
    }
    ok(cuGraphLaunch(exec, stream));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    wait_until_free(at_first - BYTES);
    fill_others(others, 3);
    expect(memory, 21);
    ok(cuMemFreeAsync(memory, stream));
    ok(cuStreamSynchronize(stream));
    free_all(others);
    wait_until_free(at_first);
}

/* A graph that leaves memory with `value` in each word. */
static CUgraph that_leaves(CUdeviceptr *memory, uint32_t value)
{
    begin();
    *memory = take(stream);
    ok(cuMemsetD32Async(*memory, value, WORDS, stream));
    return end();
}

static void what_is_in_use_is_not_allocated_again(void **state)
{
    (void)state;
    CUdeviceptr memory, untouched;
    CUgraph graph = that_leaves(&memory, 6);
    CUgraphExec exec = ready(graph);
    assert_int_equal(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE); /* nothing allocated it */
    for (int round = 0; round < 2; round++) {
        ok(cuGraphLaunch(exec, stream));
        assert_int_equal(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuGraphLaunch(exec, other), CUDA_ERROR_INVALID_VALUE);
        add_to(memory, 1, stream);
        expect(memory, 7);
        ok(round ? cuMemFree(memory) : cuMemFreeAsync(memory, stream));
        assert_int_equal(cuMemFreeAsync(memory, stream), CUDA_ERROR_INVALID_VALUE);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    for (int i = 0; i < 3; i++) {
        ok(cuGraphLaunch(exec, stream));
        add_to(memory, 2, stream);
        expect(memory, 8);
    }
    ok(cuMemFreeAsync(memory, stream));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    begin(); /* memory that no node uses */
    untouched = take(stream);
    graph = end();
    exec = ready(graph);
    ok(cuGraphDestroy(graph));
    ok(cuGraphLaunch(exec, stream));
    assert_int_equal(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 8; i++) { /* may get the handle of the graph that is gone */
        CUgraph plain;
        CUgraphExec plainly;
        begin();
        ok(cuMemsetD32Async(result, 1, WORDS, stream));
        plain = end();
        plainly = ready(plain);
        for (int launch = 0; launch < 2; launch++) ok(cuGraphLaunch(plainly, stream));
        ok(cuGraphExecDestroy(plainly));
        ok(cuGraphDestroy(plain));
    }
    ok(cuMemFreeAsync(untouched, stream));
    ok(cuGraphExecDestroy(exec));
    wait_until_free(at_first);
}

static void another_graph_frees_it(void **state)
{
    (void)state;
    CUdeviceptr memory;
    CUgraph graph = that_leaves(&memory, 9);
    CUgraphExec exec = ready(graph);
    begin();
    ok(cuMemcpyDtoDAsync(result, memory, BYTES, stream));
    ok(cuMemFreeAsync(memory, stream));
    CUgraph end_graph = end();
    CUgraphExec end_exec = ready(end_graph);
    for (int i = 0; i < 3; i++) {
        ok(cuGraphLaunch(exec, stream));
        assert_int_equal(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
        ok(cuMemsetD32Async(result, 0, WORDS, stream));
        ok(cuGraphLaunch(end_exec, stream));
        expect(result, 9);
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuGraphExecDestroy(end_exec));
    ok(cuGraphDestroy(end_graph));
    wait_until_free(at_first);
}

/* The next launch comes behind the free of what it allocates, whatever its stream. */
static void a_launch_waits_for_the_frees(void **state)
{
    (void)state;
    CUdeviceptr target;
    CUevent event;
    ok(cuMemAlloc(&target, BYTES));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    begin();
    CUdeviceptr memory = take(stream);
    ok(cuMemsetD32Async(memory, 1, WORDS, stream));
    CUgraph graph = end();
    CUgraphExec exec = ready(graph);
    ok(cuGraphLaunch(exec, other));
    ok(cuEventRecord(event, other));
    ok(cuStreamWaitEvent(stream, event, 0));
    for (int i = 0; i < 4; i++) add_to(memory, 1, stream);
    ok(cuMemcpyDtoDAsync(target, memory, BYTES, stream));
    ok(cuMemFreeAsync(memory, stream));
    if (ours) {
        ok(cuGraphLaunch(exec, other));
        ok(cuStreamSynchronize(other));
    }
    expect(target, 5);
    if (ours) {
        expect(memory, 1);
        ok(cuMemFree(memory));
    }
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuEventDestroy(event));
    ok(cuMemFree(target));
    wait_until_free(at_first);
}

/* And of what was freed by the program before the graph is gone nothing is left. */
static void what_the_program_freed_goes_with_the_graph(void **state)
{
    (void)state;
    begin();
    CUdeviceptr memory = take(stream);
    add_to(memory, 1, stream);
    CUgraph graph = end();
    CUgraphExec exec = ready(graph);
    ok(cuGraphLaunch(exec, stream));
    ok(cuMemFreeAsync(memory, stream));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    wait_until_free(at_first);
    graph = through_memory(4, &memory); /* never launched */
    ok(cuGraphDestroy(graph));
    wait_until_free(at_first);
}

/* Of the memory of four graphs the budget holds one's at a time. */
static void it_moves_like_any_other(void **state)
{
    (void)state;
    enum { GRAPHS = 4, EACH = 2 };
    CUgraphExec execs[GRAPHS];
    CUdeviceptr memory[GRAPHS][EACH];
    for (int g = 0; g < GRAPHS; g++) {
        begin();
        for (int i = 0; i < EACH; i++) {
            memory[g][i] = take(stream);
            ok(cuMemsetD32Async(memory[g][i], (uint32_t)(10 * g + i), WORDS, stream));
        }
        CUgraph graph = end();
        execs[g] = ready(graph);
        ok(cuGraphDestroy(graph));
    }
    for (int round = 0; round < 5; round++)
        for (int g = 0; g < GRAPHS; g++) {
            ok(cuGraphLaunch(execs[g], stream));
            for (int i = 0; i < EACH; i++) {
                add_to(memory[g][i], 5, stream);
                if (round == 4) expect(memory[g][i], (uint32_t)(10 * g + i) + 5);
                ok(cuMemFreeAsync(memory[g][i], stream));
            }
        }
    for (int g = 0; g < GRAPHS; g++) ok(cuGraphExecDestroy(execs[g]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_no_nodes),
        cmocka_unit_test(what_is_freed_serves_again_behind_the_free),
        cmocka_unit_test(it_lasts_as_long_as_what_is_made_of_the_graph),
        cmocka_unit_test(an_abandoned_capture_gives_it_back),
        cmocka_unit_test(what_a_launch_leaves_is_the_programs),
        cmocka_unit_test(what_is_in_use_is_not_allocated_again),
        cmocka_unit_test(another_graph_frees_it),
        cmocka_unit_test(a_launch_waits_for_the_frees),
        cmocka_unit_test(what_the_program_freed_goes_with_the_graph),
        cmocka_unit_test(it_moves_like_any_other),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
