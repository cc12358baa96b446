/* Only on softcuda, whose clock is simulated: breaks if the nodes of a graph, or calls that only ask, do not
 * cost what the options say, or branches that use different engines do not overlap. Run with
 * SOFTCUDA_NODE_NS=1000, SOFTCUDA_LAUNCH_NS=4000 and links of 10 GB/s. */
#include "check.h"
#include "kernels.h"

#define BYTES (10u << 20) /* about a millisecond over the link */

static CUstream stream;
static CUevent first, last;

static float microseconds(CUgraph graph)
{
    CUgraphExec exec;
    float milliseconds;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuEventRecord(first, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuEventRecord(last, stream));
    OK(cuEventSynchronize(last));
    OK(cuEventElapsedTime(&milliseconds, first, last));
    OK(cuGraphExecDestroy(exec));
    return milliseconds * 1000;
}

static void kernels_cost_less(CUfunction nothing)
{
    CUgraph graph;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 20; i++) OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuStreamEndCapture(stream, &graph));
    float in_graph = microseconds(graph), milliseconds;
    CHECK(in_graph >= 20 && in_graph < 23); /* and the calls that launch it */
    OK(cuEventRecord(first, stream));
    for (int i = 0; i < 20; i++) OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuEventRecord(last, stream));
    OK(cuEventSynchronize(last));
    OK(cuEventElapsedTime(&milliseconds, first, last));
    CHECK(milliseconds * 1000 >= 80 && milliseconds * 1000 < 83);
    OK(cuGraphDestroy(graph));
}

static void branches_overlap(CUdeviceptr device_memory, void *host)
{
    CUgraph together, chained;
    CUstream side;
    CUevent fork, join;
    OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(fork, stream));
    OK(cuStreamWaitEvent(side, fork, 0));
    OK(cuMemcpyHtoDAsync(device_memory, host, BYTES, stream));
    OK(cuMemcpyDtoHAsync((char *)host + BYTES, device_memory + BYTES, BYTES, side));
    OK(cuEventRecord(join, side));
    OK(cuStreamWaitEvent(stream, join, 0));
    OK(cuStreamEndCapture(stream, &together));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyHtoDAsync(device_memory, host, BYTES, stream));
    OK(cuMemcpyDtoHAsync((char *)host + BYTES, device_memory + BYTES, BYTES, stream));
    OK(cuStreamEndCapture(stream, &chained));
    float apart = microseconds(chained), beside = microseconds(together);
    CHECK(apart > 2000 && apart < 2200);
    CHECK(beside > 1000 && beside < 1200);
    OK(cuGraphDestroy(together));
    OK(cuGraphDestroy(chained));
    OK(cuEventDestroy(fork));
    OK(cuEventDestroy(join));
    OK(cuStreamDestroy(side));
}

/* PyTorch asks for the current device a dozen times for each operation. */
static void questions_cost_little(void)
{
    enum { QUESTIONS = 100 };
    CUcontext context;
    CUdevice device;
    float milliseconds;
    OK(cuEventRecord(first, stream));
    for (int i = 0; i < QUESTIONS / 2; i++) {
        OK(cuCtxGetCurrent(&context));
        OK(cuCtxGetDevice(&device));
    }
    OK(cuEventRecord(last, stream));
    OK(cuEventSynchronize(last));
    OK(cuEventElapsedTime(&milliseconds, first, last));
    CHECK(milliseconds * 1000 >= 5 && milliseconds * 1000 < 10);
}

int main(void)
{
    CUdevice device = start();
    CUmodule module;
    CUfunction nothing;
    CUdeviceptr memory;
    void *host;
    only_in_software(device);
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuMemAlloc(&memory, 2 * BYTES));
    OK(cuMemAllocHost(&host, 2 * BYTES));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&last, CU_EVENT_DEFAULT));
    kernels_cost_less(nothing);
    branches_overlap(memory, host);
    questions_cost_little();
    OK(cuEventDestroy(first));
    OK(cuEventDestroy(last));
    OK(cuStreamDestroy(stream));
    OK(cuMemFreeHost(host));
    OK(cuMemFree(memory));
    OK(cuModuleUnload(module));
    finish(device);
    return 0;
}
