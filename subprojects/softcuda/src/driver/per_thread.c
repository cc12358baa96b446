/* The `_ptsz` forms: the same functions, but a NULL stream is the calling thread's default stream. */
#include "api.h"

static CUstream own(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

/* Functions whose last parameter is the stream: name, the other parameters with types, and without. */
#define ARGUMENTS(...) __VA_ARGS__
#define STREAM_LAST(name, parameters, arguments)                                                             \
    CUresult CUDAAPI name##_ptsz(parameters, CUstream stream)                                                \
    {                                                                                                        \
        return name(arguments, own(stream));                                                                 \
    }
/* Functions whose first parameter is the stream. */
#define STREAM_FIRST(name, parameters, arguments)                                                            \
    CUresult CUDAAPI name##_ptsz(CUstream stream, parameters)                                                \
    {                                                                                                        \
        return name(own(stream), arguments);                                                                 \
    }

STREAM_LAST(cuMemsetD8Async, ARGUMENTS(CUdeviceptr a, unsigned char v, size_t n), ARGUMENTS(a, v, n))
STREAM_LAST(cuMemsetD16Async, ARGUMENTS(CUdeviceptr a, unsigned short v, size_t n), ARGUMENTS(a, v, n))
STREAM_LAST(cuMemsetD32Async, ARGUMENTS(CUdeviceptr a, unsigned int v, size_t n), ARGUMENTS(a, v, n))
STREAM_LAST(cuMemsetD2D8Async, ARGUMENTS(CUdeviceptr a, size_t p, unsigned char v, size_t w, size_t h),
            ARGUMENTS(a, p, v, w, h))
STREAM_LAST(cuMemsetD2D16Async, ARGUMENTS(CUdeviceptr a, size_t p, unsigned short v, size_t w, size_t h),
            ARGUMENTS(a, p, v, w, h))
STREAM_LAST(cuMemsetD2D32Async, ARGUMENTS(CUdeviceptr a, size_t p, unsigned int v, size_t w, size_t h),
            ARGUMENTS(a, p, v, w, h))
STREAM_LAST(cuMemcpyAsync, ARGUMENTS(CUdeviceptr to, CUdeviceptr from, size_t n), ARGUMENTS(to, from, n))
STREAM_LAST(cuMemcpyHtoDAsync_v2, ARGUMENTS(CUdeviceptr to, const void *from, size_t n),
            ARGUMENTS(to, from, n))
STREAM_LAST(cuMemcpyDtoHAsync_v2, ARGUMENTS(void *to, CUdeviceptr from, size_t n), ARGUMENTS(to, from, n))
STREAM_LAST(cuMemcpyDtoDAsync_v2, ARGUMENTS(CUdeviceptr to, CUdeviceptr from, size_t n),
            ARGUMENTS(to, from, n))
STREAM_LAST(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D *copy, copy)
STREAM_LAST(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D *copy, copy)
STREAM_LAST(cuMemAllocAsync, ARGUMENTS(CUdeviceptr *out, size_t n), ARGUMENTS(out, n))
STREAM_LAST(cuMemAllocFromPoolAsync, ARGUMENTS(CUdeviceptr *out, size_t n, CUmemoryPool pool),
            ARGUMENTS(out, n, pool))
STREAM_LAST(cuMemFreeAsync, CUdeviceptr a, a)
STREAM_LAST(cuMemPrefetchAsync, ARGUMENTS(CUdeviceptr a, size_t n, CUdevice to), ARGUMENTS(a, n, to))
STREAM_LAST(cuMemPrefetchAsync_v2, ARGUMENTS(CUdeviceptr a, size_t n, CUmemLocation to, unsigned int flags),
            ARGUMENTS(a, n, to, flags))
STREAM_LAST(cuMemPrefetchBatchAsync,
            ARGUMENTS(CUdeviceptr *a, size_t *n, size_t count, CUmemLocation *to, size_t *index,
                      size_t places, unsigned long long flags),
            ARGUMENTS(a, n, count, to, index, places, flags))
STREAM_LAST(cuMemDiscardBatchAsync,
            ARGUMENTS(CUdeviceptr *a, size_t *n, size_t count, unsigned long long flags),
            ARGUMENTS(a, n, count, flags))
STREAM_LAST(cuMemDiscardAndPrefetchBatchAsync,
            ARGUMENTS(CUdeviceptr *a, size_t *n, size_t count, CUmemLocation *to, size_t *index,
                      size_t places, unsigned long long flags),
            ARGUMENTS(a, n, count, to, index, places, flags))
STREAM_LAST(cuMemcpyPeerAsync,
            ARGUMENTS(CUdeviceptr to, CUcontext c, CUdeviceptr from, CUcontext d, size_t n),
            ARGUMENTS(to, c, from, d, n))
STREAM_LAST(cuMemcpy3DPeerAsync, const CUDA_MEMCPY3D_PEER *copy, copy)
STREAM_LAST(cuMemcpyBatchAsync,
            ARGUMENTS(CUdeviceptr *to, CUdeviceptr *from, size_t *n, size_t count, CUmemcpyAttributes *a,
                      size_t *index, size_t attributes, size_t *failed),
            ARGUMENTS(to, from, n, count, a, index, attributes, failed))
STREAM_LAST(cuMemcpyBatchAsync_v2,
            ARGUMENTS(CUdeviceptr *to, CUdeviceptr *from, size_t *n, size_t count, CUmemcpyAttributes *a,
                      size_t *index, size_t attributes),
            ARGUMENTS(to, from, n, count, a, index, attributes))
STREAM_LAST(cuMemcpy3DBatchAsync,
            ARGUMENTS(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, unsigned long long flags),
            ARGUMENTS(count, list, failed, flags))
STREAM_LAST(cuMemcpy3DBatchAsync_v2,
            ARGUMENTS(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags),
            ARGUMENTS(count, list, flags))
STREAM_LAST(cuEventRecord, CUevent event, event)

STREAM_FIRST(cuStreamWaitEvent, ARGUMENTS(CUevent event, unsigned int flags), ARGUMENTS(event, flags))
STREAM_FIRST(cuStreamGetFlags, unsigned int *flags, flags)
STREAM_FIRST(cuStreamGetPriority, int *priority, priority)
STREAM_FIRST(cuStreamGetId, unsigned long long *id, id)
STREAM_FIRST(cuStreamGetDevice, CUdevice *device, device)
STREAM_FIRST(cuStreamGetCtx, CUcontext *context, context)
STREAM_FIRST(cuStreamGetCtx_v2, ARGUMENTS(CUcontext *context, CUgreenCtx *green), ARGUMENTS(context, green))
STREAM_FIRST(cuStreamIsCapturing, CUstreamCaptureStatus *status, status)
STREAM_FIRST(cuStreamGetCaptureInfo, ARGUMENTS(CUstreamCaptureStatus *status, cuuint64_t *id),
             ARGUMENTS(status, id))
STREAM_FIRST(cuStreamGetCaptureInfo_v2,
             ARGUMENTS(CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                       const CUgraphNode **nodes, size_t *count),
             ARGUMENTS(status, id, graph, nodes, count))
STREAM_FIRST(cuStreamGetCaptureInfo_v3,
             ARGUMENTS(CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                       const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count),
             ARGUMENTS(status, id, graph, nodes, edges, count))
STREAM_FIRST(cuStreamAddCallback, ARGUMENTS(CUstreamCallback callback, void *data, unsigned int flags),
             ARGUMENTS(callback, data, flags))
STREAM_FIRST(cuStreamAttachMemAsync, ARGUMENTS(CUdeviceptr a, size_t n, unsigned int flags),
             ARGUMENTS(a, n, flags))
STREAM_FIRST(cuStreamGetAttribute, ARGUMENTS(CUstreamAttrID attribute, CUstreamAttrValue *value),
             ARGUMENTS(attribute, value))
STREAM_FIRST(cuStreamSetAttribute, ARGUMENTS(CUstreamAttrID attribute, const CUstreamAttrValue *value),
             ARGUMENTS(attribute, value))
STREAM_FIRST(cuLaunchHostFunc, ARGUMENTS(CUhostFn function, void *data), ARGUMENTS(function, data))

STREAM_LAST(cuGraphLaunch, CUgraphExec exec, exec)
STREAM_LAST(cuGraphUpload, CUgraphExec exec, exec)
STREAM_FIRST(cuStreamBeginCapture_v2, CUstreamCaptureMode mode, mode)
STREAM_FIRST(cuStreamBeginCaptureToGraph,
             ARGUMENTS(CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t count,
                       CUstreamCaptureMode mode),
             ARGUMENTS(graph, nodes, edges, count, mode))
STREAM_FIRST(cuStreamEndCapture, CUgraph *graph, graph)
STREAM_FIRST(cuStreamUpdateCaptureDependencies,
             ARGUMENTS(CUgraphNode *nodes, size_t count, unsigned int flags), ARGUMENTS(nodes, count, flags))
STREAM_FIRST(cuStreamUpdateCaptureDependencies_v2,
             ARGUMENTS(CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t count, unsigned int flags),
             ARGUMENTS(nodes, edges, count, flags))

CUresult CUDAAPI cuStreamBeginCapture_ptsz(CUstream stream)
{
    return cuStreamBeginCapture(own(stream));
}

CUresult CUDAAPI cuStreamCopyAttributes_ptsz(CUstream to, CUstream from)
{
    return cuStreamCopyAttributes(own(to), own(from));
}

CUresult CUDAAPI cuStreamSynchronize_ptsz(CUstream stream)
{
    return cuStreamSynchronize(own(stream));
}

CUresult CUDAAPI cuStreamQuery_ptsz(CUstream stream)
{
    return cuStreamQuery(own(stream));
}

CUresult CUDAAPI cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags)
{
    return cuEventRecordWithFlags(event, own(stream), flags);
}

CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                     unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                     unsigned int block_z, unsigned int dynamic_shared, CUstream stream,
                                     void **parameters, void **extra)
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared,
                          own(stream), parameters, extra);
}

CUresult CUDAAPI cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                                unsigned int grid_z, unsigned int block_x,
                                                unsigned int block_y, unsigned int block_z,
                                                unsigned int dynamic_shared, CUstream stream,
                                                void **parameters)
{
    return cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                     dynamic_shared, own(stream), parameters);
}

CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **parameters,
                                       void **extra)
{
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    CUlaunchConfig copy = *config;
    copy.hStream = own(copy.hStream);
    return cuLaunchKernelEx(&copy, function, parameters, extra);
}
