/* Stream-ordered allocation from the device's default pool. Memory is taken at the call and given back when
 * the stream reaches the free. */
#include <stdlib.h>

#include "capture.h"
#include "driver.h"
#include "graph.h"
#include "queue.h"

struct sc_pool {
    cuuint64_t release_threshold;
};

static struct sc_pool *default_pool(void)
{
    static struct sc_pool pool;
    if (!sc_handle_is(&pool, SC_HANDLE_POOL) && !sc_handle_add(&pool, SC_HANDLE_POOL)) return NULL;
    return &pool;
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    *out = (CUmemoryPool)default_pool();
    return sc_leave(*out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    return cuDeviceGetDefaultMemPool(out, device);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream handle)
{
    if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_stream *stream = sc_stream_find(handle);
    if (!stream) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    if (stream->branch) return sc_leave(sc_capture_allocate(stream, bytes, out));
    result = sc_capture_use_legacy(stream);
    if (result) return sc_leave(result);
    struct sc_context *context = stream->context;
    struct sc_allocation *allocation = sc_device_allocate(context, bytes, 512);
    if (!allocation) {
        /* Frees that are still queued may make room, as in a real pool. */
        result = sc_queue_wait_context(context);
        if (!result && sc_handle_is(context, SC_HANDLE_CONTEXT))
            allocation = sc_device_allocate(context, bytes, 512);
    }
    if (!allocation) return sc_leave(result ? result : CUDA_ERROR_OUT_OF_MEMORY);
    allocation->from_pool = true;
    *out = allocation->begin;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream handle)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    bool known = sc_handle_is(pool, SC_HANDLE_POOL);
    sc_leave(CUDA_SUCCESS);
    return known ? cuMemAllocAsync(out, bytes, handle) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_stream *stream = sc_stream_find(handle);
    if (!stream) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    if (stream->branch) return sc_leave(sc_capture_free(stream, address));
    bool of_graph;
    result = sc_graph_memory_free(address, stream, &of_graph);
    if (of_graph) return sc_leave(result);
    struct sc_allocation *allocation = sc_space_find(address);
    bool ok = allocation && allocation->begin == address && allocation->kind == SC_MEMORY_DEVICE &&
              !allocation->internal && !allocation->freeing;
    if (!ok) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_op *op = sc_op_new(SC_OP_FREE, stream->context);
    if (!op) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    op->free = (struct sc_free_work){allocation, allocation->charged_bytes};
    allocation->freeing = true;
    return sc_leave(sc_queue_submit(stream, op));
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_POOL)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        return sc_leave(sc_refuse("cuMemPoolSetAttribute", "an attribute other than the release threshold"));
    ((struct sc_pool *)handle)->release_threshold = *(cuuint64_t *)value;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_POOL)) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        return sc_leave(sc_refuse("cuMemPoolGetAttribute", "an attribute other than the release threshold"));
    *(cuuint64_t *)value = ((struct sc_pool *)handle)->release_threshold;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    (void)keep; /* the pool never holds memory back */
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    return sc_leave(sc_handle_is(handle, SC_HANDLE_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}
