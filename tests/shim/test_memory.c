/* Memory of ours must look and work like cuMemAlloc's. SLUICE_VIRTUAL_SIZE and SLUICE_HOST_LIMIT are 768 MiB,
 * the device has 256 MiB. */
#include "device.h"

#include <pthread.h>
#include <string.h>

#define VIRTUAL_BYTES (768 * MIB)

static void more_memory_than_the_device_has(void **state)
{
    (void)state;
    CUdeviceptr parts[5];
    size_t free_bytes, total_bytes;
    assert_true(managed_here(VIRTUAL_BYTES));
    for (int i = 0; i < 5; i++) ok(cuMemAlloc(&parts[i], 128 * MIB));
    ok(cuMemGetInfo(&free_bytes, &total_bytes));
    assert_in_range(free_bytes, 0, VIRTUAL_BYTES - 640 * MIB);
    CUdeviceptr refused = 7;
    assert_int_equal(cuMemAlloc(&refused, 512 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(refused, 7);
    for (int i = 0; i < 5; i++) ok(cuMemFree(parts[i]));
}

static void what_a_pointer_is(void **state)
{
    (void)state;
    CUdeviceptr address, start, base;
    CUcontext current, owner;
    size_t bytes;
    unsigned type = 0;
    int managed = 1, ordinal = -1;
    void *host = NULL;
    ok(cuMemAlloc(&address, 3000));
    ok(cuCtxGetCurrent(&current));

    ok(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address + 8));
    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 8));
    ok(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 8));
    ok(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + 8));
    ok(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address + 8));
    ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address + 8));
    assert_int_equal(managed, 0);
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(start, address);
    assert_int_equal(bytes, 3000);
    assert_ptr_equal(owner, current);
    assert_int_equal(ordinal, 0);
    assert_int_equal(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address),
                     CUDA_ERROR_INVALID_VALUE);

    ok(cuMemGetAddressRange(&base, &bytes, address + 2999));
    assert_int_equal(base, address);
    assert_int_equal(bytes, 3000);
    ok(cuMemFree(address));
}

static void what_a_pointer_is_in_the_plural(void **state)
{
    (void)state;
    CUdeviceptr address, start = 0;
    unsigned type = 0;
    int managed = 1;
    size_t bytes = 0;
    void *host = &host;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *values[] = {&type, &managed, &start, &bytes, &host};
    ok(cuMemAlloc(&address, 5000));
    ok(cuPointerGetAttributes(5, attributes, values, address + 100));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(managed, 0);
    assert_int_equal(start, address);
    assert_int_equal(bytes, 5000);
    assert_null(host);
    ok(cuMemFree(address));
}

static void frees_are_checked(void **state)
{
    (void)state;
    CUdeviceptr address;
    ok(cuMemAlloc(&address, 4096));
    assert_int_equal(cuMemFree(address + 512), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemFree(address));
    assert_int_equal(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemFree(0));
    assert_int_equal(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
}

static void rows_are_pitched(void **state)
{
    (void)state;
    CUdeviceptr address;
    size_t pitch, bytes;
    ok(cuMemAllocPitch(&address, &pitch, 1000, 30, 4));
    assert_int_equal(pitch % 512, 0);
    assert_in_range(pitch, 1000, 4096);
    ok(cuMemGetAddressRange(NULL, &bytes, address));
    assert_in_range(bytes, pitch * 29 + 1000, pitch * 30);
    ok(cuMemFree(address));
    assert_int_not_equal(cuMemAllocPitch(&address, &pitch, 1000, 30, 3), CUDA_SUCCESS);
}

static void what_was_refused_once_is_the_drivers_from_then_on(void **state)
{
    (void)state;
    CUdeviceptr address[2];
    CUipcMemHandle handle;
    size_t before, after, total;
    /* `volatile`: not unrolled, so that it is one site. */
    for (volatile int i = 0; i < 2; i++) {
        if (i) ok(cuMemGetInfo(&before, &total));
        ok(cuMemAlloc(&address[i], 2 * MIB));
        assert_int_equal(cuIpcGetMemHandle(&handle, address[i]), i ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
    }
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(before - after, 2 * MIB); /* it counts like ours */
    for (int i = 0; i < 2; i++) ok(cuMemFree(address[i]));
}

static void export_is_refused(void **state)
{
    (void)state;
    CUdeviceptr address;
    CUipcMemHandle handle;
    ok(cuMemAlloc(&address, 2 * MIB));
    assert_int_equal(cuIpcGetMemHandle(&handle, address), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuMemFree(address));
}

static void the_programs_managed_memory_stays_managed(void **state)
{
    (void)state;
    CUdeviceptr address;
    int managed = 0;
    ok(cuMemAllocManaged(&address, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
    ok(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    assert_int_equal(managed, 1);
    ok(cuMemFree(address));
}

static void freed_on_a_stream(void **state)
{
    (void)state;
    CUdeviceptr address;
    CUstream stream;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuMemAlloc(&address, MIB));
    ok(cuMemsetD8Async(address, 1, MIB, stream));
    ok(cuMemFreeAsync(address, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuStreamDestroy(stream));
}

static void *free_without_a_context(void *address)
{
    return (void *)(uintptr_t)cuMemFree(*(CUdeviceptr *)address);
}

static void freed_by_another_thread(void **state)
{
    (void)state;
    CUdeviceptr address;
    pthread_t thread;
    void *result;
    ok(cuMemAlloc(&address, MIB));
    assert_int_equal(pthread_create(&thread, NULL, free_without_a_context, &address), 0);
    pthread_join(thread, &result);
    assert_null(result);
}

static void another_context_is_left_alone(void **state)
{
    (void)state;
    CUcontext other;
    CUdeviceptr address;
    size_t bytes;
    ok(cuCtxCreate(&other, NULL, 0, 0));
    assert_false(managed_here(VIRTUAL_BYTES));
    ok(cuMemAlloc(&address, 3 * MIB));
    ok(cuMemsetD8(address, 1, 3 * MIB));
    ok(cuMemGetAddressRange(NULL, &bytes, address));
    ok(cuMemFree(address));
    ok(cuCtxDestroy(other));
    assert_int_equal(use_device(NULL), 0);
    assert_true(managed_here(VIRTUAL_BYTES));
}

/* The driver refuses, and the capture is lost; what was allocated before stays. */
static void nothing_is_allocated_during_a_capture(void **state)
{
    CUstream stream;
    CUgraph graph;
    CUdeviceptr before, during = 0;
    (void)state;
    ok(cuMemAlloc(&before, MIB));
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_equal(cuMemAlloc(&during, MIB), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_equal(cuMemFree(before), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuMemAlloc(&during, MIB));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuMemFree(during));
    ok(cuMemFree(before));
    ok(cuStreamDestroy(stream));
}

/* As NCCL makes its buffers: the driver's answer, whatever it is, and nothing charged to the device. */
static void *create_host_memory(void *result)
{
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA}};
    *(CUresult *)result = cuMemCreate(&handle, 2 * MIB, &properties, 0);
    if (*(CUresult *)result == CUDA_SUCCESS) *(CUresult *)result = cuMemRelease(handle);
    return NULL;
}

static void host_memory_made_without_a_context(void **state)
{
    (void)state;
    pthread_t thread;
    CUresult result = (CUresult)-1;
    size_t before, after;
    ok(cuMemGetInfo(&before, NULL));
    assert_int_equal(pthread_create(&thread, NULL, create_host_memory, &result), 0);
    pthread_join(thread, NULL);
    assert_true(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_SUPPORTED);
    ok(cuMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
}

/* The driver's cuMemFree waits for the device, and programs read behind it what kernels and copies wrote. */
static void freeing_waits_for_the_device(void **state)
{
    (void)state;
    CUdeviceptr source, other;
    CUstream stream;
    unsigned *host;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuMemAllocHost((void **)&host, 4 * MIB));
    ok(cuMemAlloc(&source, 4 * MIB));
    ok(cuMemAlloc(&other, 4 * MIB));
    ok(cuMemsetD32Async(source, 77, MIB, stream));
    host[MIB - 1] = 0;
    ok(cuMemcpyDtoHAsync(host, source, 4 * MIB, stream));
    ok(cuMemFree(other));
    assert_int_equal(host[MIB - 1], 77);
    ok(cuMemFree(source));
    ok(cuMemFreeHost(host));
    ok(cuStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freeing_waits_for_the_device),
        cmocka_unit_test(host_memory_made_without_a_context),
        cmocka_unit_test(more_memory_than_the_device_has),
        cmocka_unit_test(what_a_pointer_is),
        cmocka_unit_test(what_a_pointer_is_in_the_plural),
        cmocka_unit_test(frees_are_checked),
        cmocka_unit_test(rows_are_pitched),
        cmocka_unit_test(export_is_refused),
        cmocka_unit_test(what_was_refused_once_is_the_drivers_from_then_on),
        cmocka_unit_test(the_programs_managed_memory_stays_managed),
        cmocka_unit_test(freed_on_a_stream),
        cmocka_unit_test(freed_by_another_thread),
        cmocka_unit_test(another_context_is_left_alone),
        cmocka_unit_test(nothing_is_allocated_during_a_capture),
    };
    return cmocka_run_group_tests(tests, use_device, NULL);
}
