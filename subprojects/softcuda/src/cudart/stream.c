/* Streams, events and stream capture. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUlaunchAttributeValue), "handed on as they are");
_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "handed on as they are");
_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle), "copied byte by byte");

/* Converts the driver's error codes to the runtime's for the program's callback. */
struct callback {
    cudaStreamCallback_t function;
    void *data;
};

static void CUDA_CB call_back(CUstream stream, CUresult result, void *data)
{
    const struct callback callback = *(struct callback *)data;
    free(data);
    callback.function(stream, sc_error_from_driver(result), callback.data);
}

static cudaError_t add_callback(const struct sc_driver *driver, cudaStream_t stream,
                                cudaStreamCallback_t function, void *data, unsigned flags)
{
    if (!function) return cudaErrorInvalidValue;
    struct callback *callback = malloc(sizeof *callback);
    if (!callback) return cudaErrorMemoryAllocation;
    *callback = (struct callback){function, data};
    const cudaError_t status = CALL(cuStreamAddCallback, stream, call_back, callback, flags);
    if (status != cudaSuccess) free(callback);
    return status;
}

static cudaError_t stream_device(const struct sc_driver *driver, cudaStream_t stream, int *out)
{
    CUdevice device = 0;
    if (!out) return cudaErrorInvalidValue;
    const cudaError_t status = CALL(cuStreamGetDevice, stream, &device);
    if (status == cudaSuccess) *out = device;
    return status;
}

static cudaError_t open_event(const struct sc_driver *driver, cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle converted;
    memcpy(&converted, &handle, sizeof converted);
    return CALL(cuIpcOpenEventHandle, event, converted);
}

SC_API(cudaStreamCreate, (cudaStream_t * stream), CALL(cuStreamCreate, stream, CU_STREAM_DEFAULT))
SC_API(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags),
       CALL(cuStreamCreate, stream, flags))
SC_API(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned int flags, int priority),
       CALL(cuStreamCreateWithPriority, stream, flags, priority))
SC_API(cudaStreamDestroy, (cudaStream_t stream), CALL(cuStreamDestroy, stream))
SC_STREAM_API(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int *priority),
              CALL(cuStreamGetPriority, stream, priority))
SC_STREAM_API(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned int *flags),
              CALL(cuStreamGetFlags, stream, flags))
SC_STREAM_API(cudaStreamGetId, _ptsz, (cudaStream_t stream, unsigned long long *id),
              CALL(cuStreamGetId, stream, id))
SC_STREAM_API(cudaStreamGetDevice, _ptsz, (cudaStream_t stream, int *device),
              stream_device(driver, stream, device))
SC_STREAM_API(cudaStreamCopyAttributes, _ptsz, (cudaStream_t to, cudaStream_t from),
              CALL(cuStreamCopyAttributes, to, from))
SC_STREAM_API(cudaStreamGetAttribute, _ptsz,
              (cudaStream_t stream, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value),
              CALL(cuStreamGetAttribute, stream, (CUstreamAttrID)attribute, (CUstreamAttrValue *)value))
SC_STREAM_API(cudaStreamSetAttribute, _ptsz,
              (cudaStream_t stream, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value),
              CALL(cuStreamSetAttribute, stream, (CUstreamAttrID)attribute, (const CUstreamAttrValue *)value))
SC_STREAM_API(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
              CALL(cuStreamWaitEvent, stream, event, flags))
SC_STREAM_API(cudaStreamAddCallback, _ptsz,
              (cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned int flags),
              add_callback(driver, stream, function, data, flags))
SC_STREAM_API(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), CALL(cuStreamSynchronize, stream))
SC_STREAM_API(cudaStreamQuery, _ptsz, (cudaStream_t stream), CALL(cuStreamQuery, stream))
SC_STREAM_API(cudaStreamAttachMemAsync, _ptsz,
              (cudaStream_t stream, void *address, size_t bytes, unsigned int flags),
              CALL(cuStreamAttachMemAsync, stream, (CUdeviceptr)address, bytes, flags))

SC_API(cudaEventCreate, (cudaEvent_t * event), CALL(cuEventCreate, event, CU_EVENT_DEFAULT))
SC_API(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), CALL(cuEventCreate, event, flags))
SC_API(cudaEventQuery, (cudaEvent_t event), CALL(cuEventQuery, event))
SC_API(cudaEventSynchronize, (cudaEvent_t event), CALL(cuEventSynchronize, event))
SC_API(cudaEventDestroy, (cudaEvent_t event), CALL(cuEventDestroy, event))
SC_API(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
       CALL_OR_OLDER(cuEventElapsedTime, (milliseconds, start, end), 2000, true, (milliseconds, start, end)))
SC_STREAM_API(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream),
              CALL(cuEventRecord, event, stream))
SC_STREAM_API(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
              CALL(cuEventRecordWithFlags, event, stream, flags))
SC_API(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event),
       CALL(cuIpcGetEventHandle, (CUipcEventHandle *)handle, event))
SC_API(cudaIpcOpenEventHandle, (cudaEvent_t * event, cudaIpcEventHandle_t handle),
       open_event(driver, event, handle))

SC_STREAM_API(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
              CALL(cuStreamBeginCapture, stream, (CUstreamCaptureMode)mode))
SC_STREAM_API(cudaStreamBeginCaptureToGraph, _ptsz,
              (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
               const cudaGraphEdgeData *edges, size_t count, enum cudaStreamCaptureMode mode),
              CALL(cuStreamBeginCaptureToGraph, stream, graph, dependencies, (const CUgraphEdgeData *)edges,
                   count, (CUstreamCaptureMode)mode))
SC_STREAM_API(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t *graph),
              CALL(cuStreamEndCapture, stream, graph))
SC_STREAM_API(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, enum cudaStreamCaptureStatus *capture),
              CALL(cuStreamIsCapturing, stream, (CUstreamCaptureStatus *)capture))
SC_STREAM_API(
    cudaStreamGetCaptureInfo, _ptsz,
    (cudaStream_t stream, enum cudaStreamCaptureStatus *capture, unsigned long long *id, cudaGraph_t *graph,
     const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges, size_t *count),
    CALL_OR_OLDER(cuStreamGetCaptureInfo,
                  (stream, (CUstreamCaptureStatus *)capture, (cuuint64_t *)id, graph, dependencies,
                   (const CUgraphEdgeData **)edges, count),
                  11030, !edges,
                  (stream, (CUstreamCaptureStatus *)capture, (cuuint64_t *)id, graph, dependencies, count)))
SC_STREAM_API(cudaStreamUpdateCaptureDependencies, _ptsz,
              (cudaStream_t stream, cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
               size_t count, unsigned int flags),
              CALL_OR_OLDER(cuStreamUpdateCaptureDependencies,
                            (stream, dependencies, (const CUgraphEdgeData *)edges, count, flags), 11030,
                            !edges, (stream, dependencies, count, flags)))
SC_API(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
       CALL(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *)mode))
