/* Graphs for tests: blocks of memory that are several times the budget, and what they must hold. */
#ifndef GRAPH_BLOCKS_H
#define GRAPH_BLOCKS_H

#include <string.h>

#include "adder.h"

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

static inline int load(void **state)
{
    if (use_device(state) || cuCtxGetCurrent(&context) || cuModuleLoadData(&module, adder_ptx) ||
        cuModuleGetFunction(&add, module, "add") || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
        return -1;
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemAlloc(&blocks[i], BLOCK) || cuMemsetD32(blocks[i], 0, WORDS)) return -1;
    return cuCtxSynchronize();
}

static inline int unload(void **state)
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

static inline void make_kernel(struct kernel *kernel, int block, uint32_t value)
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

static inline void make_packed_kernel(struct kernel *kernel, int block, uint32_t value)
{
    make_kernel(kernel, block, value);
    kernel->bytes = sizeof kernel->arguments;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &kernel->arguments, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &kernel->bytes, CU_LAUNCH_PARAM_END};
    memcpy(kernel->extra, extra, sizeof extra);
    kernel->node.kernelParams = NULL;
    kernel->node.extra = kernel->extra;
}

static inline CUDA_MEMSET_NODE_PARAMS set_of(int block, uint32_t value)
{
    return (CUDA_MEMSET_NODE_PARAMS){
        .dst = blocks[block], .elementSize = 4, .value = value, .width = WORDS, .height = 1};
}

static inline CUDA_MEMCPY3D copy_of(int to, int from)
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
static inline CUgraphNode add_kernel(CUgraph graph, CUgraphNode after, int block, uint32_t value)
{
    struct kernel kernel;
    CUgraphNode node;
    make_kernel(&kernel, block, value);
    ok(cuGraphAddKernelNode(&node, graph, &after, after != NULL, &kernel.node));
    return node;
}

/* Adds `value` to `count` blocks from `first` on, one after the other. */
static inline CUgraph chain(int first, int count, uint32_t value, CUgraphNode *nodes)
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

static inline void expect_added(int first, int count, uint32_t value)
{
    for (int i = first; i < first + count; i++) expected[i] += value;
}

static inline CUgraphExec ready(CUgraph graph)
{
    CUgraphExec exec;
    ok(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

/* Each block in its turn, so that what was changed a while ago has left the device. */
static inline void compare(void)
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

#endif
