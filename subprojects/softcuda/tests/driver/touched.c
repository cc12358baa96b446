/* Does things to memory and says what it touched: a line for each operation, as softcuda's own file has it.
 * Breaks if SOFTCUDA_TOUCHED misses accesses, tells of more, or takes reads for writes. */
#include <stdbool.h>

#include "check.h"
#include "kernels.h"

/* Every thread adds 1 to a word, 4 KiB from its neighbour's; the second half of the block reads one word
 * instead. */
static const char far_apart[] = ".version 7.0\n"
                                ".target sm_75\n"
                                ".address_size 64\n"
                                ".visible .entry far_apart(.param .u64 to, .param .u64 from)\n"
                                "{\n"
                                "  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<5>;\n"
                                "  .shared .align 4 .b8 scratch[256];\n"
                                "  ld.param.u64 %rd1, [to];\n"
                                "  ld.param.u64 %rd2, [from];\n"
                                "  mov.u32 %r1, %tid.x;\n"
                                "  setp.ge.s32 %p1, %r1, 16;\n"
                                "  @%p1 bra READ;\n"
                                "  mul.wide.s32 %rd3, %r1, 4096;\n"
                                "  add.s64 %rd4, %rd1, %rd3;\n"
                                "  red.global.add.u32 [%rd4], 1;\n"
                                "  ret;\n"
                                "READ:\n"
                                "  ld.u32 %r2, [%rd2];\n"
                                "  mov.u64 %rd3, scratch;\n"
                                "  cvta.shared.u64 %rd3, %rd3;\n"
                                "  st.u32 [%rd3], %r2;\n"
                                "  ret;\n"
                                "}\n";

static void say(const char *kind, bool in_graph, CUdeviceptr read, size_t read_bytes, CUdeviceptr written,
                size_t written_bytes)
{
    printf("{\"kind\": \"%s\", \"graph\": %s, \"read\": [", kind, in_graph ? "true" : "false");
    if (read_bytes) printf("[%llu, %zu]", read, read_bytes);
    printf("], \"written\": [");
    if (written_bytes) printf("[%llu, %zu]", written, written_bytes);
    printf("]}\n");
}

static void launch_affine(CUfunction affine, CUdeviceptr to, CUdeviceptr from, int count)
{
    float scale = 1, bias = 0;
    void *parameters[] = {&to, &from, &count, &scale, &bias};
    OK(cuLaunchKernel(affine, 4, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
}

static void launch_far_apart(CUdeviceptr memory)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr from = memory + (512 << 10);
    void *parameters[] = {&memory, &from};
    OK(cuModuleLoadData(&module, far_apart));
    OK(cuModuleGetFunction(&function, module, "far_apart"));
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    printf("{\"kind\": \"kernel\", \"graph\": false, \"read\": [");
    for (int i = 0; i < 16; i++) printf("[%llu, 512], ", memory + i * 4096);
    printf("[%llu, 512]], \"written\": [", from);
    for (int i = 0; i < 16; i++) printf("%s[%llu, 512]", i ? ", " : "", memory + i * 4096);
    printf("]}\n");
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(module));
}

static void launch_graph(CUdeviceptr memory)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD32Async(memory, 1, 256, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    say("graph", true, 0, 0, 0, 0);
    say("set", true, 0, 0, memory, 1024);
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
}

int main(void)
{
    CUmodule module;
    CUfunction affine;
    CUdeviceptr memory;
    char host[2048] = {0};
    start();
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    OK(cuMemAlloc(&memory, 1 << 20));
    OK(cuMemsetD8(memory + 512, 0, 1000));
    say("set", false, 0, 0, memory + 512, 1024);
    launch_affine(affine, memory + 65536, memory, 300);
    say("kernel", false, memory, 1536, memory + 65536, 1536);
    OK(cuMemcpyHtoD(memory + 1024, host, sizeof host));
    say("copy", false, 0, 0, memory + 1024, 2048);
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = memory,
                          .srcPitch = 512,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = memory + 131072,
                          .dstPitch = 1024,
                          .WidthInBytes = 4,
                          .Height = 2};
    OK(cuMemcpy2D(&rows));
    printf("{\"kind\": \"copy\", \"graph\": false, \"read\": [[%llu, 1024]], \"written\": [[%llu, 512], "
           "[%llu, 512]]}\n",
           memory, memory + 131072, memory + 132096);
    launch_far_apart(memory);
    launch_graph(memory);
    OK(cuMemFree(memory));
    OK(cuModuleUnload(module));
    return 0;
}
