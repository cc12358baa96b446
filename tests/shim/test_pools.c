/* Allocation in stream order, and pools. What is asserted holds with and without sluice, but for what is said
 * to be sluice's. */
#include "device.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define WORDS 4096

static CUmemoryPool make_pool(CUmemAllocationHandleType handles, size_t max_bytes)
{
    CUmemoryPool pool;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .handleTypes = handles,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                 .maxSize = max_bytes};
    ok(cuMemPoolCreate(&pool, &properties));
    return pool;
}

static CUmemoryPool default_pool(void)
{
    CUmemoryPool pool;
    ok(cuDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
    cuuint64_t value = 0;
    ok(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static CUmemoryPool pool_of(CUdeviceptr address)
{
    CUmemoryPool pool = (CUmemoryPool)1;
    ok(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    return pool;
}

static size_t free_now(void)
{
    size_t free_bytes, total_bytes;
    ok(cuMemGetInfo(&free_bytes, &total_bytes));
    assert_in_range(free_bytes, 0, total_bytes);
    return free_bytes;
}

static uint32_t last_word(CUdeviceptr memory, CUstream stream)
{
    uint32_t word = 0;
    ok(cuMemcpyDtoHAsync(&word, memory + 4 * (WORDS - 1), sizeof word, stream));
    ok(cuStreamSynchronize(stream));
    return word;
}

static CUstream new_stream(void)
{
    CUstream stream;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

/* The first memory of the process: what an allocator has to ask the driver for must not end the capture. */
static void memory_is_taken_beside_a_capture(void **state)
{
    CUdeviceptr memory;
    CUgraph graph;
    (void)state;
    CUstream stream = new_stream(), other = new_stream();
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuMemAllocAsync(&memory, MIB, other));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuMemFreeAsync(memory, other));
    ok(cuStreamDestroy(stream));
    ok(cuStreamDestroy(other));
}

/* Sluice's: the device has 256 MiB. */
static void more_memory_than_the_device_has(void **state)
{
    CUdeviceptr parts[5], refused = 7;
    (void)state;
    if (!managed_here(768 * MIB)) skip();
    CUstream stream = new_stream();
    for (int i = 0; i < 5; i++) {
        ok(cuMemAllocAsync(&parts[i], 128 * MIB, stream));
        ok(cuMemsetD32Async(parts[i], 100 + (unsigned)i, WORDS, stream));
    }
    assert_int_equal(cuMemAllocAsync(&refused, 512 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(refused, 7);
    assert_int_equal(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 640 * MIB);
    for (int i = 0; i < 5; i++) assert_int_equal(last_word(parts[i], stream), 100 + i);
    for (int i = 0; i < 5; i++) ok(cuMemFreeAsync(parts[i], stream));
    assert_int_equal(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    ok(cuStreamDestroy(stream));
}

static void what_a_pool_counts(void **state)
{
    CUdeviceptr a, b;
    cuuint64_t zero = 0, one = 1, threshold = 10 * MIB;
    (void)state;
    CUstream stream = new_stream();
    CUmemoryPool pool = make_pool(CU_MEM_HANDLE_TYPE_NONE, 0);
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    ok(cuMemAllocFromPoolAsync(&a, 3 * MIB, pool, stream));
    ok(cuMemAllocFromPoolAsync(&b, MIB, pool, stream));
    assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 4 * MIB);
    assert_true(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 4 * MIB);
    ok(cuMemFreeAsync(a, stream));
    assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), MIB);
    assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 4 * MIB);
    assert_true(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) >= 4 * MIB);
    assert_int_equal(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one),
                     CUDA_ERROR_INVALID_VALUE);
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), MIB);
    assert_true(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) >= 4 * MIB);
    ok(cuMemFreeAsync(b, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuMemPoolTrimTo(pool, 0));
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 0);
    assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), threshold);
    ok(cuMemPoolDestroy(pool));
    ok(cuStreamDestroy(stream));
}

static void what_is_refused(void **state)
{
    CUdeviceptr address = 7;
    cuuint64_t value;
    (void)state;
    CUstream stream = new_stream();
    CUmemoryPool pool = make_pool(CU_MEM_HANDLE_TYPE_NONE, 0);
    assert_int_equal(cuMemAllocAsync(&address, 0, stream), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAllocAsync(NULL, 64, stream), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAllocFromPoolAsync(&address, 64, NULL, stream), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    ok(cuMemPoolDestroy(pool));
    assert_int_equal(cuMemAllocFromPoolAsync(&address, 64, pool, stream), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(address, 7);
    ok(cuMemAllocAsync(&address, 4096, stream));
    assert_int_equal(cuMemFreeAsync(address + 512, stream), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemFreeAsync(address, stream));
    assert_int_equal(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
    ok(cuStreamSynchronize(stream));
    assert_int_equal(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemAllocAsync(&address, 4096, stream));
    ok(cuStreamDestroy(stream));
    CUdeviceptr other;
    assert_int_equal(cuMemAllocAsync(&other, 4096, stream), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_HANDLE);
    ok(cuMemFree(address));
    assert_int_equal(cuMemPoolDestroy(default_pool()), CUDA_ERROR_INVALID_VALUE);
}

static void a_pool_has_a_largest_size(void **state)
{
    CUdeviceptr a, b = 7;
    (void)state;
    CUstream stream = new_stream();
    CUmemoryPool pool = make_pool(CU_MEM_HANDLE_TYPE_NONE, 8 * MIB);
    ok(cuMemAllocFromPoolAsync(&a, 6 * MIB, pool, stream));
    assert_int_equal(cuMemAllocFromPoolAsync(&b, 6 * MIB, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(b, 7);
    ok(cuMemFreeAsync(a, stream));
    ok(cuMemAllocFromPoolAsync(&b, 6 * MIB, pool, stream));
    ok(cuMemFreeAsync(b, stream));
    ok(cuMemPoolDestroy(pool));
    ok(cuStreamDestroy(stream));
}

/* What it gave out lives on. */
static void a_pool_is_destroyed_before_its_memory(void **state)
{
    CUdeviceptr memory;
    (void)state;
    CUstream stream = new_stream();
    CUmemoryPool pool = make_pool(CU_MEM_HANDLE_TYPE_NONE, 0);
    ok(cuMemAllocFromPoolAsync(&memory, 4 * WORDS, pool, stream));
    ok(cuMemPoolDestroy(pool));
    CUmemoryPool next = make_pool(CU_MEM_HANDLE_TYPE_NONE, 0);
    ok(cuMemsetD32Async(memory, 5, WORDS, stream));
    assert_int_equal(last_word(memory, stream), 5);
    ok(cuMemFreeAsync(memory, stream));
    ok(cuStreamSynchronize(stream));
    assert_int_equal(attribute(next, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    ok(cuMemPoolDestroy(next));
    ok(cuStreamDestroy(stream));
}

static void the_current_pool_serves(void **state)
{
    CUdeviceptr before, during, after, plain;
    CUmemoryPool current;
    (void)state;
    CUstream stream = new_stream();
    CUmemoryPool pool = make_pool(CU_MEM_HANDLE_TYPE_NONE, 0);
    ok(cuMemAllocAsync(&before, 64, stream));
    ok(cuDeviceSetMemPool(0, pool));
    ok(cuDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, pool);
    ok(cuMemAllocAsync(&during, 64, stream));
    assert_ptr_equal(pool_of(before), default_pool());
    assert_ptr_equal(pool_of(during + 63), pool);
    ok(cuMemFreeAsync(during, stream));
    ok(cuMemPoolDestroy(pool));
    ok(cuMemAllocAsync(&after, 64, stream));
    assert_ptr_equal(pool_of(after), default_pool());
    ok(cuMemAlloc(&plain, 64));
    assert_null(pool_of(plain));
    ok(cuMemFree(plain));
    ok(cuMemFreeAsync(after, stream));
    ok(cuMemFreeAsync(before, stream));
    ok(cuStreamDestroy(stream));
}

/* Frameworks allocate and free with every operation. By the device's clock, which counts the host's calls. */
static void a_pair_takes_no_more_calls_than_the_two(void **state)
{
    enum { PAIRS = 1000 };
    CUdeviceptr memory;
    CUevent begin, end;
    float milliseconds;
    (void)state;
    if (getenv("SLUICE_POLICY")) skip(); /* what is only recorded is asked about */
    CUstream stream = new_stream();
    ok(cuEventCreate(&begin, 0));
    ok(cuEventCreate(&end, 0));
    ok(cuEventRecord(begin, stream));
    for (int i = 0; i < PAIRS; i++) {
        ok(cuMemAllocAsync(&memory, 64, stream));
        ok(cuMemFreeAsync(memory, stream));
    }
    ok(cuEventRecord(end, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuEventElapsedTime(&milliseconds, begin, end));
    assert_in_range((int)(1000 * milliseconds), 1, 2 * PAIRS + 20);
    ok(cuEventDestroy(begin));
    ok(cuEventDestroy(end));
    ok(cuStreamDestroy(stream));
}

static void freed_the_other_way(void **state)
{
    CUdeviceptr asynchronous, plain;
    (void)state;
    CUstream stream = new_stream();
    uint64_t used = attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    ok(cuMemAllocAsync(&asynchronous, MIB, stream));
    ok(cuMemAlloc(&plain, MIB));
    assert_int_equal(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), used + MIB);
    ok(cuMemFree(asynchronous));
    ok(cuMemFreeAsync(plain, stream));
    ok(cuStreamSynchronize(stream));
    assert_int_equal(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), used);
    ok(cuStreamDestroy(stream));
}

/* The device works as late as it may, so what the first stream does to memory that it freed would show. */
static void the_next_owner_comes_after_the_last(void **state)
{
    CUdeviceptr memory, again;
    (void)state;
    CUstream first = new_stream(), second = new_stream();
    ok(cuMemAllocAsync(&memory, 4 * WORDS, first));
    ok(cuMemsetD32Async(memory, 1, WORDS, first));
    ok(cuMemFreeAsync(memory, first));
    ok(cuMemAllocAsync(&again, 4 * WORDS, second));
    ok(cuMemsetD32Async(again, 2, WORDS, second));
    ok(cuStreamSynchronize(second));
    ok(cuCtxSynchronize());
    assert_int_equal(last_word(again, second), 2);
    ok(cuMemFreeAsync(again, second));
    ok(cuStreamDestroy(first));
    ok(cuStreamDestroy(second));
}

static void CUDA_CB hold(void *go)
{
    while (!atomic_load((_Atomic bool *)go)) sched_yield();
}

/* Beside memory that was freed: a stream that is held up until another has done its work must not hold that
 * one up, though both use the same chunk. */
static void who_uses_other_memory_is_not_waited_for(void **state)
{
    CUdeviceptr held, free_to_go, freed;
    static _Atomic bool go;
    (void)state;
    CUstream first = new_stream(), second = new_stream();
    ok(cuMemAlloc(&held, 4 * WORDS));
    ok(cuMemAlloc(&free_to_go, 4 * WORDS));
    ok(cuMemAlloc(&freed, 4 * WORDS));
    ok(cuMemsetD32Async(freed, 1, WORDS, first));
    ok(cuMemsetD32Async(freed, 1, WORDS, second));
    ok(cuCtxSynchronize());
    ok(cuMemFree(freed));
    ok(cuLaunchHostFunc(first, hold, (void *)&go));
    ok(cuMemsetD32Async(held, 3, WORDS, first));
    ok(cuMemsetD32Async(free_to_go, 4, WORDS, second));
    ok(cuStreamSynchronize(second));
    atomic_store(&go, true);
    ok(cuCtxSynchronize());
    assert_int_equal(last_word(held, first), 3);
    assert_int_equal(last_word(free_to_go, first), 4);
    ok(cuMemFree(held));
    ok(cuMemFree(free_to_go));
    ok(cuStreamDestroy(first));
    ok(cuStreamDestroy(second));
}

/* In a capture memory is the graph's, and only the graph's can be freed. */
static void captured(void **state)
{
    CUdeviceptr ours, node;
    CUgraph graph;
    CUgraphExec executable;
    uint32_t word = 0;
    (void)state;
    CUstream stream = new_stream();
    size_t before = free_now();
    ok(cuMemAllocAsync(&ours, 4 * WORDS, stream));
    uint64_t used = attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuMemAllocAsync(&node, 4 * WORDS, stream));
    ok(cuMemsetD32Async(node, 77, WORDS, stream));
    ok(cuMemcpyDtoDAsync(ours, node, 4 * WORDS, stream));
    ok(cuMemFreeAsync(node, stream));
    assert_int_equal(cuMemFreeAsync(ours, stream), CUDA_ERROR_INVALID_VALUE);
    ok(cuStreamEndCapture(stream, &graph));
    assert_int_equal(attribute(default_pool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), used);
    ok(cuGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 2; i++) {
        ok(cuMemsetD32Async(ours, 0, WORDS, stream));
        ok(cuGraphLaunch(executable, stream));
        word = last_word(ours, stream);
        assert_int_equal(word, 77);
    }
    ok(cuGraphExecDestroy(executable));
    ok(cuGraphDestroy(graph));
    ok(cuMemFreeAsync(ours, stream));
    ok(cuStreamDestroy(stream));
    ok(cuDeviceGraphMemTrim(0));
    while (managed_here(768 * MIB) && free_now() < before)
        sched_yield(); /* a thread of the driver's says when */
}

static void what_is_taken_is_not_free(void **state)
{
    CUdeviceptr memory;
    (void)state;
    CUstream stream = new_stream();
    ok(cuCtxSynchronize());
    size_t before = free_now();
    ok(cuMemAllocAsync(&memory, 6 * MIB, stream));
    assert_true(free_now() + 6 * MIB <= before);
    ok(cuMemFreeAsync(memory, stream));
    ok(cuStreamSynchronize(stream));
    assert_int_equal(free_now(), before);
    ok(cuStreamDestroy(stream));
}

/* What other processes may open is the driver's memory, and counted while its pool holds it. */
static void a_pool_for_other_processes(void **state)
{
    CUdeviceptr a, b;
    cuuint64_t keep = UINT64_MAX;
    (void)state;
    CUstream stream = new_stream();
    size_t before = free_now();
    CUmemoryPool pool = make_pool(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    ok(cuMemAllocFromPoolAsync(&a, 3 * MIB, pool, stream));
    ok(cuMemAllocFromPoolAsync(&b, 5 * MIB, pool, stream));
    assert_ptr_equal(pool_of(a), pool);
    assert_int_equal(free_now(), before - 8 * MIB);
    ok(cuMemsetD32Async(a, 3, WORDS, stream));
    assert_int_equal(last_word(a, stream), 3);
    ok(cuMemFreeAsync(b, stream));
    ok(cuStreamSynchronize(stream));
    assert_int_equal(free_now(), before - 8 * MIB); /* freed, and kept by the pool */
    ok(cuMemPoolTrimTo(pool, 0));
    assert_int_equal(free_now(), before - 3 * MIB);
    ok(cuMemPoolDestroy(pool));
    assert_int_equal(free_now(), before - 3 * MIB);
    ok(cuMemFreeAsync(a, stream));
    ok(cuStreamSynchronize(stream));
    assert_int_equal(free_now(), before);
    ok(cuStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_taken_beside_a_capture),
        cmocka_unit_test(more_memory_than_the_device_has),
        cmocka_unit_test(what_a_pool_counts),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(a_pool_has_a_largest_size),
        cmocka_unit_test(a_pool_is_destroyed_before_its_memory),
        cmocka_unit_test(the_current_pool_serves),
        cmocka_unit_test(a_pair_takes_no_more_calls_than_the_two),
        cmocka_unit_test(freed_the_other_way),
        cmocka_unit_test(the_next_owner_comes_after_the_last),
        cmocka_unit_test(who_uses_other_memory_is_not_waited_for),
        cmocka_unit_test(captured),
        cmocka_unit_test(what_is_taken_is_not_free),
        cmocka_unit_test(a_pool_for_other_processes),
    };
    return cmocka_run_group_tests(tests, use_device, NULL);
}
