/* Every way to the handle of a kernel, over memory that is several times the budget. Run with
 * SOFTCUDA_STRICT_HANDLES: the driver ends the process when it is asked about a handle as if it were of the
 * other kind. The software device's statistics show at exit whether any launch went unseen
 * (check_launches.py). With an argument: a handle that no call gave out which is followed.
 */
#include "adder.h"

#include <string.h>

#define BLOCK (2 * MIB)
#define BLOCKS 24
#define WORDS (BLOCK / sizeof(uint32_t))

static CUmodule module;
static CUlibrary library;
static CUstream stream;
static CUdeviceptr blocks[BLOCKS];
static uint32_t expected;

static int load(void **state)
{
    if (use_device(state) || cuModuleLoadData(&module, adder_ptx) ||
        cuLibraryLoadData(&library, adder_ptx, NULL, NULL, 0, NULL, NULL, 0))
        return -1;
    if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) return -1;
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemAlloc(&blocks[i], BLOCK) || cuMemsetD32(blocks[i], 0, WORDS)) return -1;
    return cuCtxSynchronize();
}

static int unload(void **state)
{
    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemFree(blocks[i])) return -1;
    return cuStreamDestroy(stream) || cuLibraryUnload(library) || cuModuleUnload(module) ? -1 : 0;
}

static CUresult launch(CUfunction add, CUdeviceptr block)
{
    uint32_t count = WORDS, value = 1;
    void *parameters[] = {&block, &count, &value};
    return cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL);
}

static void compare(void)
{
    static uint32_t seen[WORDS];
    expected++;
    ok(cuStreamSynchronize(stream));
    for (int i = 0; i < BLOCKS; i++) {
        ok(cuMemcpyDtoH(seen, blocks[i], BLOCK));
        for (size_t w = 0; w < WORDS; w++)
            if (seen[w] != expected) fail_msg("block %d, word %zu: %u, not %u", i, w, seen[w], expected);
    }
}

static void run(CUfunction add)
{
    for (int i = 0; i < BLOCKS; i++) ok(launch(add, blocks[i]));
    compare();
}

static void of_a_module(void **state)
{
    (void)state;
    CUfunction add;
    ok(cuModuleGetFunction(&add, module, "add"));
    run(add);
}

static void of_a_library(void **state)
{
    (void)state;
    CUkernel add;
    ok(cuLibraryGetKernel(&add, library, "add"));
    run((CUfunction)add);
}

static void of_a_librarys_kernel(void **state)
{
    (void)state;
    CUkernel kernel;
    CUfunction add;
    ok(cuLibraryGetKernel(&kernel, library, "add"));
    ok(cuKernelGetFunction(&add, kernel));
    run(add);
}

/* Loaded anew, so that nothing else made its handles known. There is room for more than there are. */
static void of_a_list_of_functions(void **state)
{
    (void)state;
    CUmodule another;
    CUfunction functions[64] = {0};
    const char *name;
    ok(cuModuleLoadData(&another, adder_ptx));
    ok(cuModuleEnumerateFunctions(functions, 64, another));
    for (int i = 0; functions[i]; i++) {
        ok(cuFuncGetName(&name, functions[i]));
        if (!strcmp(name, "add")) run(functions[i]);
    }
    ok(cuModuleUnload(another));
}

static void of_a_list_of_kernels(void **state)
{
    (void)state;
    CUlibrary another;
    CUkernel kernels[64] = {0};
    const char *name;
    ok(cuLibraryLoadData(&another, adder_ptx, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryEnumerateKernels(kernels, 64, another));
    for (int i = 0; kernels[i]; i++) {
        ok(cuKernelGetName(&name, kernels[i]));
        if (!strcmp(name, "add")) run((CUfunction)kernels[i]);
    }
    ok(cuLibraryUnload(another));
}

static void capture(CUfunction add, CUdeviceptr block, CUgraph *graph)
{
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(launch(add, block));
    ok(cuStreamEndCapture(stream, graph));
}

/* The node's handle is the driver's own: the program launched another one, of a library from which it never
 * asked for a CUfunction. */
static void of_captured_nodes(void **state)
{
    (void)state;
    CUlibrary another;
    CUkernel add;
    ok(cuLibraryLoadData(&another, adder_ptx, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&add, another, "add"));
    for (int i = 0; i < BLOCKS; i++) {
        CUgraph graph;
        CUgraphExec exec;
        capture((CUfunction)add, blocks[i], &graph);
        ok(cuGraphInstantiate(&exec, graph, 0));
        ok(cuGraphLaunch(exec, stream));
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
    }
    compare();
    ok(cuLibraryUnload(another));
}

static void of_nodes_made_by_hand(void **state)
{
    (void)state;
    CUkernel add;
    ok(cuLibraryGetKernel(&add, library, "add"));
    for (int i = 0; i < BLOCKS; i++) {
        uint32_t count = WORDS, value = 1;
        void *values[] = {&blocks[i], &count, &value};
        CUDA_KERNEL_NODE_PARAMS parameters = {.kern = add,
                                              .gridDimX = WORDS / 256,
                                              .gridDimY = 1,
                                              .gridDimZ = 1,
                                              .blockDimX = 256,
                                              .blockDimY = 1,
                                              .blockDimZ = 1,
                                              .kernelParams = values};
        CUgraph graph;
        CUgraphNode node;
        CUgraphExec exec;
        ok(cuGraphCreate(&graph, 0));
        ok(cuGraphAddKernelNode(&node, graph, NULL, 0, &parameters));
        ok(cuGraphInstantiate(&exec, graph, 0));
        ok(cuGraphLaunch(exec, stream));
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
    }
    compare();
}

/* Taken from a node: nobody can tell of which kind it is, so it is not asked about. */
static void of_unknown_origin(void **state)
{
    (void)state;
    CUkernel add;
    CUgraph graph;
    CUgraphNode node;
    size_t count = 1;
    CUDA_KERNEL_NODE_PARAMS parameters;
    ok(cuLibraryGetKernel(&add, library, "add"));
    capture((CUfunction)add, blocks[0], &graph);
    ok(cuGraphGetNodes(graph, &node, &count));
    ok(cuGraphKernelNodeGetParams(node, &parameters));
    assert_non_null(parameters.func);
    assert_ptr_not_equal(parameters.func, add);
    run(parameters.func);
    ok(cuGraphDestroy(graph));
}

int main(int count, char **arguments)
{
    (void)arguments;
    const struct CMUnitTest followed[] = {
        cmocka_unit_test(of_a_module),           cmocka_unit_test(of_a_library),
        cmocka_unit_test(of_a_librarys_kernel),  cmocka_unit_test(of_a_list_of_functions),
        cmocka_unit_test(of_a_list_of_kernels),  cmocka_unit_test(of_captured_nodes),
        cmocka_unit_test(of_nodes_made_by_hand),
    };
    const struct CMUnitTest unknown[] = {cmocka_unit_test(of_unknown_origin)};
    return count > 1 ? cmocka_run_group_tests(unknown, load, unload)
                     : cmocka_run_group_tests(followed, load, unload);
}
