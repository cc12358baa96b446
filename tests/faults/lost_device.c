/* Uses memory in each way in which sluice has to wait for the device on the program's behalf. A call that
 * fails is printed as `error N` and ends the program with status 3. Knows nothing of sluice. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB ((size_t)1 << 20)

#define must(call)                                                                                           \
    do {                                                                                                     \
        CUresult must_result = (call);                                                                       \
        if (must_result) {                                                                                   \
            fprintf(stderr, "lost_device:%d: %s: error %d\n", __LINE__, #call, (int)must_result);            \
            _Exit(3);                                                                                        \
        }                                                                                                    \
    } while (0)

static CUstream first, second;
static CUdeviceptr plain, own;
static CUevent event;

/* The graph's memory outlives a launch, and is freed outside of the graph. */
static CUgraphExec capture(void)
{
    CUgraph graph;
    CUgraphExec ready;
    must(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    must(cuMemAllocAsync(&own, MIB, first));
    must(cuMemsetD8Async(own, 1, MIB, first));
    must(cuMemcpyDtoDAsync(plain, own, MIB, first));
    must(cuStreamEndCapture(first, &graph));
    must(cuGraphInstantiateWithFlags(&ready, graph, 0));
    must(cuGraphDestroy(graph));
    return ready;
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    must(cuInit(0));
    must(cuDeviceGet(&device, 0));
    must(cuDevicePrimaryCtxRetain(&context, device));
    must(cuCtxSetCurrent(context));
    must(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    must(cuMemAlloc(&plain, 4 * MIB));
    must(cuMemsetD8Async(plain, 2, 4 * MIB, second));
    CUgraphExec ready = capture();
    for (int i = 0; i < 3; i++) {
        must(cuGraphLaunch(ready, first));
        must(cuEventRecord(event, first));
        must(cuStreamWaitEvent(second, event, 0));
        must(cuMemFreeAsync(own, second)); /* the next launch waits for it */
    }
    /* Only streams, and events of destroyed ones, can be waited for while one captures. */
    CUstream third;
    must(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
    must(cuMemsetD8Async(plain, 3, 4 * MIB, third));
    must(cuStreamDestroy(third));
    must(cuMemsetD8Async(plain, 3, 4 * MIB, second));
    must(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    must(cuThreadExchangeStreamCaptureMode(&relaxed));
    must(cuMemFree(plain));
    CUgraph empty;
    must(cuStreamEndCapture(first, &empty));
    must(cuGraphDestroy(empty));
    must(cuGraphExecDestroy(ready));
    must(cuStreamDestroy(first));
    must(cuStreamDestroy(second));
    must(cuCtxSynchronize());
    return 0;
}
