/* The API of memory pools, and allocation in stream order. */
#include <string.h>

#include "capture.h"
#include "graph.h"
#include "pool.h"

/* On success the lock is held. pre: like sc_enter. */
static CUresult enter_pool(CUmemoryPool handle, struct sc_pool **out)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_POOL)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    *out = (struct sc_pool *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *wanted)
{
    static const unsigned char zeros[sizeof wanted->reserved];
    if (!out || !wanted || memcmp(wanted->reserved, zeros, sizeof zeros) || wanted->win32SecurityAttributes)
        return CUDA_ERROR_INVALID_VALUE;
    if (wanted->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED)
        return sc_refuse("cuMemPoolCreate", "a pool of managed memory");
    if (wanted->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (wanted->location.type == CU_MEM_LOCATION_TYPE_HOST ||
        wanted->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return sc_refuse("cuMemPoolCreate", "a pool of host memory");
    if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (wanted->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return sc_refuse("cuMemPoolCreate", "a handle that is not a file descriptor");
    if (wanted->usage) return sc_refuse("cuMemPoolCreate", "a pool for decompression");
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_device *device = sc_device_at(wanted->location.id);
    if (!device) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_pool *pool = sc_pool_create(device, wanted->maxSize);
    if (pool) *out = (CUmemoryPool)pool;
    return sc_leave(pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool handle)
{
    struct sc_pool *pool;
    CUresult result = enter_pool(handle, &pool);
    if (result) return result;
    if (pool->is_default) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    sc_pool_destroy(pool);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    struct sc_pool *pool;
    CUresult result = enter_pool(handle, &pool);
    if (result) return result;
    sc_pool_trim(pool, keep);
    return sc_leave(CUDA_SUCCESS);
}

/* The program can only reset a high-water mark. */
static CUresult reset(uint64_t *high, uint64_t now, const void *value)
{
    if (*(const cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    *high = now;
    return CUDA_SUCCESS;
}

static CUresult set_flag(int *flag, const void *value)
{
    *flag = *(const int *)value != 0;
    return CUDA_SUCCESS;
}

static CUresult set_attribute(struct sc_pool *pool, CUmemPool_attribute attribute, const void *value)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        return set_flag(&pool->follow_events, value);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        return set_flag(&pool->opportunistic, value);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return set_flag(&pool->internal_dependencies, value);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->release_threshold = *(const cuuint64_t *)value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return reset(&pool->reserved_high, pool->reserved_bytes, value);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return reset(&pool->used_high, pool->used_bytes, value);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    struct sc_pool *pool;
    CUresult result = enter_pool(handle, &pool);
    return result ? result : sc_leave(set_attribute(pool, attribute, value));
}

static CUresult get_attribute(const struct sc_pool *pool, CUmemPool_attribute attribute, void *value)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        *(int *)value = pool->follow_events;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        *(int *)value = pool->opportunistic;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = pool->internal_dependencies;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(cuuint64_t *)value = pool->release_threshold;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *(cuuint64_t *)value = pool->reserved_bytes;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *(cuuint64_t *)value = pool->reserved_high;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *(cuuint64_t *)value = pool->used_bytes;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(cuuint64_t *)value = pool->used_high;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    struct sc_pool *pool;
    CUresult result = enter_pool(handle, &pool);
    return result ? result : sc_leave(get_attribute(pool, attribute, value));
}

/* The access of a pool's own device cannot be revoked. */
static CUresult check_access(const struct sc_pool *pool, const CUmemAccessDesc *wanted)
{
    if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    const struct sc_device *device = sc_device_at(wanted->location.id);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    bool own = device == pool->device;
    if (!own && !sc_device_reaches(device, pool->device)) return CUDA_ERROR_INVALID_DEVICE;
    bool none = wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE && !own;
    return none || wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    if (!map && count) return CUDA_ERROR_INVALID_VALUE;
    struct sc_pool *pool;
    CUresult result = enter_pool(handle, &pool);
    if (result) return result;
    for (size_t i = 0; i < count && !result; i++) result = check_access(pool, &map[i]);
    for (size_t i = 0; i < count && !result; i++)
        sc_pool_set_access(pool, sc_device_at(map[i].location.id),
                           map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
    return sc_leave(result);
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
    struct sc_pool *pool;
    CUresult result = enter_pool(handle, &pool);
    if (result) return result;
    bool device = location->type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (device && !sc_device_at(location->id)) return sc_leave(CUDA_ERROR_INVALID_DEVICE);
    *flags = device && pool->access >> location->id & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                        : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return sc_leave(CUDA_SUCCESS);
}

static CUresult hand_out(CUmemoryPool *out, CUdevice ordinal, struct sc_pool *(*which)(struct sc_device *))
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_device *device = sc_device_at(ordinal);
    if (!device) return sc_leave(CUDA_ERROR_INVALID_DEVICE);
    struct sc_pool *pool = which(device);
    if (pool) *out = (CUmemoryPool)pool;
    return sc_leave(pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    return hand_out(out, device, sc_pool_default);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    return hand_out(out, device, sc_pool_current);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle)
{
    struct sc_pool *pool;
    CUresult result = enter_pool(handle, &pool);
    if (result) return result;
    struct sc_device *device = sc_device_at(ordinal);
    if (!device) return sc_leave(CUDA_ERROR_INVALID_DEVICE);
    if (pool->device != device) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    device->pool = pool;
    return sc_leave(CUDA_SUCCESS);
}

/* Checks the location that the newer functions use to name a device. Only device memory has pools here. */
static CUresult check_place(const char *function, const CUmemLocation *location, CUmemAllocationType type)
{
    if (!location) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) return sc_refuse(function, "a pool of managed memory");
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (location->type == CU_MEM_LOCATION_TYPE_DEVICE)
        return sc_device_at(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    if (location->type == CU_MEM_LOCATION_TYPE_HOST || location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return sc_refuse(function, "a pool of host memory");
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = check_place("cuMemGetDefaultMemPool", location, type);
    return result ? result : cuDeviceGetDefaultMemPool(out, location->id);
}

CUresult CUDAAPI cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = check_place("cuMemGetMemPool", location, type);
    return result ? result : cuDeviceGetMemPool(out, location->id);
}

CUresult CUDAAPI cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUresult result = check_place("cuMemSetMemPool", location, type);
    return result ? result : cuDeviceSetMemPool(location->id, pool);
}

/* `handle` NULL: the device's current pool. */
static CUresult allocate(CUdeviceptr *out, size_t bytes, CUmemoryPool handle, CUstream stream_handle)
{
    if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_stream *stream = sc_stream_find(stream_handle);
    if (!stream) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    if (stream->branch) return sc_leave(sc_capture_allocate(stream, bytes, out));
    result = sc_capture_use_legacy(stream);
    if (result) return sc_leave(result);
    if (handle && !sc_handle_is(handle, SC_HANDLE_POOL)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_pool *pool = handle ? (struct sc_pool *)handle : sc_pool_current(stream->context->device);
    if (!pool) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    return sc_leave(sc_pool_allocate(pool, stream, bytes, out));
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
    return allocate(out, bytes, NULL, stream);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    return pool ? allocate(out, bytes, pool, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream stream_handle)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_stream *stream = sc_stream_find(stream_handle);
    if (!stream) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    if (stream->branch) return sc_leave(sc_capture_free(stream, address));
    bool of_graph;
    result = sc_graph_memory_free(address, stream, &of_graph);
    if (of_graph) return sc_leave(result);
    struct sc_allocation *allocation = sc_space_find(address);
    bool ok = allocation && allocation->begin == address && allocation->kind == SC_MEMORY_DEVICE &&
              !allocation->internal && !allocation->freeing;
    return sc_leave(ok ? sc_pool_free(allocation, stream) : CUDA_ERROR_INVALID_VALUE);
}
