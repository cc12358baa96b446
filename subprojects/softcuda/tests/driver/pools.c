/* Memory pools: what they hold, when memory is used again and by whom, and when it goes back to the device.
 */
#include <stdint.h>

#include "check.h"

#define MIB ((size_t)1 << 20)
#define PIECE (64 * MIB)

static CUdevice device;

static cuuint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
    cuuint64_t value = 0;
    OK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void set_flag(CUmemoryPool pool, CUmemPool_attribute which, int value)
{
    OK(cuMemPoolSetAttribute(pool, which, &value));
}

static CUmemoryPool create(size_t max_bytes, int follow_events, int opportunistic, int internal)
{
    CUmemPoolProps properties;
    memset(&properties, 0, sizeof properties);
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    properties.maxSize = max_bytes;
    CUmemoryPool pool;
    OK(cuMemPoolCreate(&pool, &properties));
    cuuint64_t keep = UINT64_MAX;
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    set_flag(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, follow_events);
    set_flag(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, opportunistic);
    set_flag(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, internal);
    return pool;
}

static cuuint64_t reserved(CUmemoryPool pool)
{
    return attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

static void attributes(CUstream stream)
{
    CUmemoryPool pool, fresh;
    int flag = 0;
    OK(cuDeviceGetDefaultMemPool(&pool, device));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &flag));
    CHECK(flag == 1);
    CHECK(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 0);
    FAILS(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    fresh = create(0, 1, 1, 1);
    CUdeviceptr a;
    CHECK(reserved(fresh) == 0);
    OK(cuMemAllocFromPoolAsync(&a, 8 * MIB, fresh, stream));
    CHECK(attribute(fresh, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= 8 * MIB);
    CHECK(reserved(fresh) >= attribute(fresh, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(attribute(fresh, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    CHECK(attribute(fresh, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= 8 * MIB && reserved(fresh) >= 8 * MIB);
    cuuint64_t value = 5;
    FAILS(cuMemPoolSetAttribute(fresh, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value), CUDA_ERROR_INVALID_VALUE);
    value = 0;
    OK(cuMemPoolSetAttribute(fresh, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
    CHECK(attribute(fresh, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
    OK(cuMemPoolTrimTo(fresh, 0));
    CHECK(reserved(fresh) == 0);
    CUmemAccess_flags access;
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    OK(cuMemPoolGetAccess(&access, fresh, &here));
    CHECK(access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemPoolDestroy(fresh));
}

/* The device's pool serves cuMemAllocAsync; destroying it brings the default one back. */
static void current(CUstream stream)
{
    CUmemoryPool pool = create(0, 1, 1, 1), standard, got;
    CUdeviceptr a;
    OK(cuDeviceGetDefaultMemPool(&standard, device));
    OK(cuDeviceSetMemPool(device, pool));
    OK(cuDeviceGetMemPool(&got, device));
    CHECK(got == pool);
    OK(cuMemAllocAsync(&a, MIB, stream));
    OK(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    CHECK(got == pool && attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= MIB);
    OK(cuMemPoolDestroy(pool));
    OK(cuDeviceGetMemPool(&got, device));
    CHECK(got == standard);
    /* What was allocated outlives its pool. */
    unsigned value = 0;
    OK(cuMemsetD32Async(a, 7, MIB / 4, stream));
    OK(cuMemcpyDtoHAsync(&value, a + MIB - 4, 4, stream));
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(value == 7);
}

static void same_stream(CUstream stream)
{
    CUmemoryPool pool = create(0, 0, 0, 0);
    CUdeviceptr a;
    OK(cuMemAllocFromPoolAsync(&a, PIECE, pool, stream));
    OK(cuMemFreeAsync(a, stream));
    cuuint64_t held = reserved(pool);
    for (int i = 0; i < 20; i++) {
        OK(cuMemAllocFromPoolAsync(&a, PIECE, pool, stream));
        OK(cuMemsetD8Async(a, 1, PIECE, stream));
        OK(cuMemFreeAsync(a, stream));
    }
    CHECK(reserved(pool) == held);
    OK(cuStreamSynchronize(stream));
    OK(cuMemPoolDestroy(pool));
}

/* Another stream gets the memory after an event only if the pool may look at events. */
static void after_an_event(CUstream first, CUstream second)
{
    for (int follow = 0; follow < 2; follow++) {
        CUmemoryPool pool = create(0, follow, 0, 0);
        CUdeviceptr a, b;
        CUevent event;
        OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        OK(cuMemAllocFromPoolAsync(&a, PIECE, pool, first));
        OK(cuMemFreeAsync(a, first));
        OK(cuEventRecord(event, first));
        cuuint64_t held = reserved(pool);
        OK(cuStreamWaitEvent(second, event, 0));
        OK(cuMemAllocFromPoolAsync(&b, PIECE, pool, second));
        CHECK(follow ? reserved(pool) == held : reserved(pool) >= held + PIECE);
        OK(cuMemFreeAsync(b, second));
        OK(cuCtxSynchronize());
        OK(cuEventDestroy(event));
        OK(cuMemPoolDestroy(pool));
    }
}

/* Nothing orders the streams: the memory is not shared before the host has waited. */
static void opportunistic(CUstream first, CUstream second)
{
    CUmemoryPool pool = create(0, 1, 1, 0);
    CUdeviceptr a, b;
    OK(cuMemAllocFromPoolAsync(&a, PIECE, pool, first));
    OK(cuMemFreeAsync(a, first));
    OK(cuStreamSynchronize(first));
    cuuint64_t held = reserved(pool);
    OK(cuMemAllocFromPoolAsync(&b, PIECE, pool, second));
    CHECK(reserved(pool) == held);
    OK(cuMemFreeAsync(b, second));
    OK(cuStreamSynchronize(second));
    OK(cuMemPoolDestroy(pool));
}

/* A destroyed stream's frees come before the legacy stream's next operation, not before another stream's. */
static void left_behind(void)
{
    CUmemoryPool pool = create(0, 1, 0, 0);
    CUdeviceptr a, b, c;
    CUstream gone, other;
    OK(cuStreamCreate(&gone, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    OK(cuMemAllocFromPoolAsync(&a, PIECE, pool, gone));
    OK(cuMemFreeAsync(a, gone));
    cuuint64_t held = reserved(pool);
    OK(cuStreamDestroy(gone));
    OK(cuMemAllocFromPoolAsync(&b, PIECE, pool, other));
    CHECK(reserved(pool) >= held + PIECE);
    held = reserved(pool);
    OK(cuMemAllocFromPoolAsync(&c, PIECE, pool, NULL));
    CHECK(reserved(pool) == held);
    OK(cuMemFreeAsync(b, other));
    OK(cuMemFreeAsync(c, NULL));
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy(other));
    OK(cuMemPoolDestroy(pool));
}

static void threshold(CUstream stream)
{
    CUmemoryPool pool = create(0, 1, 1, 1);
    cuuint64_t keep = PIECE;
    CUdeviceptr list[4];
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    for (int i = 0; i < 4; i++) OK(cuMemAllocFromPoolAsync(&list[i], PIECE, pool, stream));
    for (int i = 0; i < 4; i++) OK(cuMemFreeAsync(list[i], stream));
    CHECK(reserved(pool) >= 4 * PIECE);
    OK(cuStreamSynchronize(stream));
    CHECK(reserved(pool) < 3 * PIECE);
    keep = 0;
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    OK(cuStreamSynchronize(stream));
    CHECK(reserved(pool) == 0);
    OK(cuMemPoolDestroy(pool));
}

/* A stream's memory may become another's while both are busy: every value must still be the right one. */
static void values(CUstream first, CUstream second)
{
    CUmemoryPool pool = create(0, 1, 1, 1);
    CUstream streams[] = {first, second};
    unsigned *got;
    OK(cuMemAllocHost((void **)&got, 64 * sizeof *got));
    for (unsigned i = 0; i < 64; i++) {
        CUdeviceptr a;
        OK(cuMemAllocFromPoolAsync(&a, 4 * MIB, pool, streams[i % 2]));
        OK(cuMemsetD32Async(a, i, MIB, streams[i % 2]));
        OK(cuMemcpyDtoHAsync(&got[i], a + 4 * MIB - 4, 4, streams[i % 2]));
        OK(cuMemFreeAsync(a, streams[i % 2]));
    }
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < 64; i++) CHECK(got[i] == i);
    OK(cuMemFreeHost(got));
    OK(cuMemPoolDestroy(pool));
}

/* Freed memory of one stream serves another when there is no more; a pool never exceeds its size. */
static void limits(CUstream first, CUstream second)
{
    size_t before, after, total;
    CUdeviceptr a, b;
    CUmemoryPool small = create(32 * MIB, 1, 1, 1);
    FAILS(cuMemAllocFromPoolAsync(&a, 256 * MIB, small, first), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemPoolDestroy(small));
    OK(cuMemGetInfo(&before, &total));
    OK(cuMemAllocAsync(&a, before / 5 * 3, first));
    OK(cuMemGetInfo(&after, &total));
    CHECK(before - after >= before / 5 * 3);
    FAILS(cuMemAllocAsync(&b, before / 5 * 3, second), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemsetD8Async(a, 1, before / 5 * 3, first));
    OK(cuMemFreeAsync(a, first));
    OK(cuMemAllocAsync(&b, before / 5 * 3, second));
    OK(cuMemFreeAsync(b, second));
    OK(cuCtxSynchronize());
    OK(cuMemGetInfo(&after, &total));
    CHECK(after + 64 * MIB >= before);
    /* cuMemFree takes pool memory, too. */
    OK(cuMemAllocAsync(&a, PIECE, first));
    OK(cuMemFree(a));
}

static void refusals(void)
{
    CUmemoryPool pool;
    CUdeviceptr a;
    cuuint64_t value = 0;
    CUmemPoolProps wrong = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 99}};
    CHECK(cuMemPoolCreate(&pool, &wrong) != CUDA_SUCCESS);
    FAILS(cuMemPoolCreate(NULL, &wrong), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocAsync(NULL, 16, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocAsync(&a, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetDefaultMemPool(&pool, device));
    FAILS(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &value), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    device = start();
    int supported = 0;
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device));
    if (!supported) return 77;
    CUstream first, second;
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    attributes(first);
    current(first);
    same_stream(first);
    after_an_event(first, second);
    opportunistic(first, second);
    left_behind();
    threshold(first);
    values(first, second);
    limits(first, second);
    refusals();
    OK(cuStreamDestroy(first));
    OK(cuStreamDestroy(second));
    finish(device);
    return 0;
}
