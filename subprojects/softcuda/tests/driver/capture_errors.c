/* Breaks if a call that stream capture forbids is let through, fails with another error than the vendor's
 * driver documents, or leaves the capture valid. */
#include <pthread.h>
#include <stdbool.h>

#include "check.h"

static CUstream stream, other; /* a blocking one, and one that is not */
static CUdeviceptr cell;

static void begin(CUstream on, CUstreamCaptureMode mode)
{
    OK(cuStreamBeginCapture(on, mode));
    OK(cuMemsetD32Async(cell, 1, 1, on));
}

/* Ends a capture that must be invalid by now. */
static void end_invalid(CUstream on)
{
    CUgraph graph = (CUgraph)&graph;
    CUstreamCaptureStatus status;
    OK(cuStreamIsCapturing(on, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    FAILS(cuMemsetD32Async(cell, 2, 1, on), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    FAILS(cuStreamEndCapture(on, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(!graph);
    OK(cuStreamIsCapturing(on, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
}

static void end_valid(CUstream on)
{
    CUgraph graph;
    OK(cuStreamEndCapture(on, &graph));
    OK(cuGraphDestroy(graph));
}

static void wrong_places(void)
{
    CUgraph graph;
    FAILS(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    FAILS(cuStreamBeginCapture(stream, (CUstreamCaptureMode)3), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    FAILS(cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, 0), CUDA_ERROR_ILLEGAL_STATE);
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    end_valid(stream);
}

/* What asks about a captured stream or waits for it cannot be answered, whatever the mode. */
static void waiting(CUstreamCaptureMode mode)
{
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    begin(stream, mode);
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalid(stream);
    begin(stream, mode);
    FAILS(cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalid(stream);
    begin(stream, mode);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalid(stream);
    begin(stream, mode);
    OK(cuEventRecord(event, stream));
    FAILS(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
    end_invalid(stream);
    begin(stream, mode);
    OK(cuEventRecord(event, stream));
    FAILS(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    end_invalid(stream);
    OK(cuEventRecord(event, stream)); /* no captured event any more */
    OK(cuEventSynchronize(event));
    OK(cuEventDestroy(event));
}

/* The legacy stream would have to wait for a captured blocking stream. */
static void implicit(CUstreamCaptureMode mode)
{
    int value = 0;
    CUstreamCaptureStatus status;
    begin(stream, mode);
    FAILS(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_valid(stream);
    begin(stream, mode);
    FAILS(cuMemsetD32Async(cell, 3, 1, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_invalid(stream);
    begin(stream, mode);
    FAILS(cuMemcpyDtoH(&value, cell, sizeof value), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_invalid(stream);
    /* A stream that does not block is none of its business. */
    begin(other, mode);
    OK(cuMemsetD32Async(cell, 3, 1, NULL));
    end_valid(other);
}

static void unsafe(CUstreamCaptureMode mode)
{
    CUdeviceptr memory;
    bool relaxed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    begin(other, mode);
    if (relaxed) {
        OK(cuMemAlloc(&memory, 64));
        OK(cuStreamSynchronize(stream));
        end_valid(other);
        OK(cuMemFree(memory));
        return;
    }
    FAILS(cuMemAlloc(&memory, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalid(other);
    begin(other, mode);
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalid(other);
    /* The thread may promise that it knows what it does. */
    CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    begin(other, mode);
    OK(cuThreadExchangeStreamCaptureMode(&thread_mode));
    CHECK(thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuMemAlloc(&memory, 64));
    OK(cuThreadExchangeStreamCaptureMode(&thread_mode));
    CHECK(thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED);
    end_valid(other);
    OK(cuMemFree(memory));
}

static CUcontext context;

/* What another thread gets from an unsafe call, and from the end of a capture that is not its own. */
struct attempt {
    CUstreamCaptureMode thread_mode;
    CUresult synchronized, ended;
};

static void *attempt(void *argument)
{
    struct attempt *attempt = argument;
    CUgraph graph;
    OK(cuCtxSetCurrent(context));
    OK(cuThreadExchangeStreamCaptureMode(&attempt->thread_mode));
    attempt->ended = cuStreamEndCapture(other, &graph);
    if (attempt->ended == CUDA_SUCCESS) OK(cuGraphDestroy(graph));
    attempt->synchronized = cuStreamSynchronize(stream);
    return NULL;
}

static struct attempt elsewhere(CUstreamCaptureMode thread_mode)
{
    struct attempt result = {.thread_mode = thread_mode};
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, attempt, &result));
    CHECK(!pthread_join(thread, NULL));
    return result;
}

static void threads(void)
{
    begin(other, CU_STREAM_CAPTURE_MODE_GLOBAL);
    struct attempt result = elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL);
    CHECK(result.ended == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CHECK(result.synchronized == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalid(other);
    begin(other, CU_STREAM_CAPTURE_MODE_GLOBAL);
    result = elsewhere(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CHECK(result.synchronized == CUDA_SUCCESS);
    end_valid(other);
    begin(other, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    result = elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL);
    CHECK(result.ended == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && result.synchronized == CUDA_SUCCESS);
    end_valid(other);
    begin(other, CU_STREAM_CAPTURE_MODE_RELAXED);
    result = elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL);
    CHECK(result.ended == CUDA_SUCCESS && result.synchronized == CUDA_SUCCESS);
}

static void dependencies(void)
{
    CUevent event, outside;
    CUgraph graph;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&outside, CU_EVENT_DISABLE_TIMING));
    /* A fork that nothing joins. */
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    FAILS(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuMemsetD32Async(cell, 2, 1, other));
    FAILS(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    /* A fork without work needs no join. */
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    OK(cuMemsetD32Async(cell, 2, 1, stream));
    end_valid(stream);
    /* A stream of the capture may go, joined or to be joined by an event; what it did has to be joined. */
    for (int joined = 0; joined < 2; joined++) {
        CUstream side;
        OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
        begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        OK(cuEventRecord(event, stream));
        OK(cuStreamWaitEvent(side, event, 0));
        OK(cuMemsetD32Async(cell, 2, 1, side));
        OK(cuEventRecord(event, side));
        OK(cuStreamDestroy(side));
        if (joined) OK(cuStreamWaitEvent(stream, event, 0));
        if (joined)
            end_valid(stream);
        else
            FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
    /* Work outside the capture cannot be waited for. */
    OK(cuEventRecord(outside, other));
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(cuStreamWaitEvent(stream, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    end_invalid(stream);
    /* Two captures stay two. */
    begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    begin(other, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuEventRecord(event, stream));
    FAILS(cuStreamWaitEvent(other, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    end_invalid(other);
    CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuEventDestroy(event));
    OK(cuEventDestroy(outside));
}

static void CUDA_CB call_back(CUstream on, CUresult result, void *data)
{
    (void)on, (void)result, (void)data;
}

static void not_captured(void)
{
    begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    FAILS(cuStreamAddCallback(stream, call_back, NULL, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalid(stream);
}

int main(void)
{
    CUdevice device = start();
    OK(cuCtxGetCurrent(&context));
    OK(cuMemAlloc(&cell, 4));
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    wrong_places();
    for (int mode = CU_STREAM_CAPTURE_MODE_GLOBAL; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        waiting((CUstreamCaptureMode)mode);
        implicit((CUstreamCaptureMode)mode);
        unsafe((CUstreamCaptureMode)mode);
    }
    threads();
    dependencies();
    not_captured();
    OK(cuStreamDestroy(stream));
    OK(cuStreamDestroy(other));
    OK(cuMemFree(cell));
    finish(device);
    return 0;
}
