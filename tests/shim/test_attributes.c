/* What the program can ask of an address, and what it may advise: the answers are cuMemAlloc's, with sluice
 * as without. */
#include "device.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 3000
#define invalid(call) assert_int_equal(call, CUDA_ERROR_INVALID_VALUE)

static size_t told_before; /* cuDeviceTotalMem before there was a context */
static CUstream stream;

static int set_up(void **state)
{
    if (cuInit(0) || cuDeviceTotalMem(&told_before, 0) || use_device(state)) return -1;
    return cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS ? 0 : -1;
}

static CUdeviceptr take(void)
{
    CUdeviceptr address;
    ok(cuMemAlloc(&address, BYTES));
    return address;
}

static uint64_t eight(CUpointer_attribute attribute, CUdeviceptr address)
{
    uint64_t value = 0x5555555555555555;
    ok(cuPointerGetAttribute(&value, attribute, address));
    return value;
}

/* Writes four bytes and no more. */
static int four(CUpointer_attribute attribute, CUdeviceptr address)
{
    int value[2] = {0x55555555, 0x55555555};
    ok(cuPointerGetAttribute(value, attribute, address));
    assert_int_equal(value[1], 0x55555555);
    return value[0];
}

static void expect_all(CUdeviceptr start, CUdeviceptr address)
{
    CUcontext context;
    ok(cuCtxGetCurrent(&context));
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_CONTEXT, address), (uintptr_t)context);
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), CU_MEMORYTYPE_DEVICE);
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address), address);
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_IS_MANAGED, address), 0);
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address), 0);
    /* As the driver's memory is, and ours is not. */
    bool ours = getenv("LD_PRELOAD") && !getenv("SLUICE_POLICY");
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address), !ours);
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, address), 0);
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_MAPPED, address), 1);
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address), 0);
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address),
                     CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address), 0);
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address), start);
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_RANGE_SIZE, address), BYTES);
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, address), start);
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address), BYTES);
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address), 0);
#if CUDA_VERSION >= 12080
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, address), 0);
#endif
}

static void of_every_address_of_an_allocation(void **state)
{
    (void)state;
    CUdeviceptr below = take(), address = take(), above = take();
    expect_all(address, address);
    expect_all(address, address + 1);
    expect_all(address, address + BYTES - 1);
    ok(cuMemFree(below));
    ok(cuMemFree(above));
    expect_all(address, address + 512);
    ok(cuMemFree(address));
}

static void what_has_no_answer(void **state)
{
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
    void *host;
    int value;
    (void)state;
    CUdeviceptr address = take();
    invalid(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address));
    assert_int_equal(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, address),
                     CUDA_ERROR_NOT_SUPPORTED);
    invalid(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    invalid(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, address + BYTES));
    ok(cuMemFree(address));
    invalid(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    invalid(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
}

static void in_the_plural(void **state)
{
    (void)state;
    CUdeviceptr address = take(), start = 1;
    unsigned type = 9;
    int managed = 9, ordinal = 9;
    size_t bytes = 9;
    void *host = &host;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,     CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &managed, &start, &bytes, &host, &ordinal};
    ok(cuPointerGetAttributes(6, attributes, values, address + 100));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(managed, 0);
    assert_int_equal(start, address);
    assert_int_equal(bytes, BYTES);
    assert_null(host);
    assert_int_equal(ordinal, 0);
    invalid(cuPointerGetAttributes(0, attributes, values, address));
    invalid(cuPointerGetAttributes(6, NULL, values, address));
    ok(cuMemFree(address));
    type = 9, managed = 9;
    ok(cuPointerGetAttributes(6, attributes, values, address + 100));
    assert_int_equal(type, 0);
    assert_int_equal(managed, 0);
    assert_int_equal(start, 0);
    assert_int_equal(bytes, 0);
    assert_int_equal(ordinal, CU_DEVICE_INVALID);
}

static void each_allocation_has_a_number(void **state)
{
    uint64_t numbers[6];
    (void)state;
    CUdeviceptr low = take(), high = take(), managed;
    numbers[0] = eight(CU_POINTER_ATTRIBUTE_BUFFER_ID, low);
    numbers[1] = eight(CU_POINTER_ATTRIBUTE_BUFFER_ID, high);
    assert_int_equal(eight(CU_POINTER_ATTRIBUTE_BUFFER_ID, low + BYTES - 1), numbers[0]);
    ok(cuMemFree(high));
    high = take();
    numbers[2] = eight(CU_POINTER_ATTRIBUTE_BUFFER_ID, high);
    ok(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    numbers[3] = eight(CU_POINTER_ATTRIBUTE_BUFFER_ID, managed);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++) assert_int_not_equal(numbers[i], numbers[k]);
    ok(cuMemFree(low));
    ok(cuMemFree(high));
    ok(cuMemFree(managed));
}

/* The device works as late as it may. Its memory is the host's to read, on the software device. */
static void synchronous_operations_can_be_made_to_wait(void **state)
{
    unsigned on = 1, off = 0;
    (void)state;
    CUdeviceptr address = take(), neighbour = take();
    const volatile unsigned char *bytes = (const volatile unsigned char *)(uintptr_t)address;
    ok(cuMemsetD8(address, 1, BYTES));
    ok(cuCtxSynchronize());
    ok(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address + 7));
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address), 1);
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, neighbour), 0);
    ok(cuMemsetD8(address, 2, BYTES));
    assert_int_equal(bytes[BYTES - 1], 2);
    ok(cuMemsetD8Async(neighbour, 3, BYTES, NULL));
    ok(cuMemcpyDtoD(address, neighbour, BYTES));
    assert_int_equal(bytes[BYTES - 1], 3);
    ok(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address), 0);
    invalid(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    invalid(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address + BYTES));
    ok(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, neighbour));
    ok(cuMemFree(neighbour));
    neighbour = take(); /* another allocation */
    assert_int_equal(four(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, neighbour), 0);
    ok(cuMemFree(neighbour));
    ok(cuMemFree(address));
}

static void address_ranges(void **state)
{
    CUdeviceptr base;
    size_t bytes;
    (void)state;
    CUdeviceptr address = take();
    ok(cuMemGetAddressRange(&base, NULL, address + 1000));
    ok(cuMemGetAddressRange(NULL, &bytes, address + BYTES - 1));
    ok(cuMemGetAddressRange(NULL, NULL, address));
    assert_int_equal(base, address);
    assert_int_equal(bytes, BYTES);
    assert_int_equal(cuMemGetAddressRange(&base, &bytes, address + BYTES), CUDA_ERROR_NOT_FOUND);
    ok(cuMemFree(address));
    assert_int_equal(cuMemGetAddressRange(&base, &bytes, address), CUDA_ERROR_NOT_FOUND);
}

static void the_device_is_as_large_as_its_memory(void **state)
{
    size_t free_bytes, total_bytes, told;
    (void)state;
    ok(cuMemGetInfo(&free_bytes, &total_bytes));
    ok(cuDeviceTotalMem(&told, 0));
    assert_int_equal(told, total_bytes);
    assert_int_equal(told_before, total_bytes);
    assert_int_equal(cuDeviceTotalMem(&told, 1), CUDA_ERROR_INVALID_DEVICE);
}

static void it_is_no_host_memory(void **state)
{
    (void)state;
    CUdeviceptr address, mapped;
    unsigned flags;
    ok(cuMemAlloc(&address, 4 * MIB));
    void *pointer = (void *)(uintptr_t)address;
    invalid(cuMemHostRegister(pointer, 4096, 0));
    invalid(cuMemHostGetDevicePointer(&mapped, pointer, 0));
    invalid(cuMemHostGetFlags(&flags, pointer));
    invalid(cuMemFreeHost(pointer));
    assert_int_equal(cuMemHostUnregister(pointer), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ok(cuMemFree(address));
}

#if CUDA_VERSION >= 13000
static const CUmemLocation on_device = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                           on_host = {.type = CU_MEM_LOCATION_TYPE_HOST};

/* Each of these would move what sluice moves, or take it away. */
static void advice_is_refused(void **state)
{
    CUdeviceptr address, managed;
    size_t bytes = 2 * MIB, both[2] = {2 * MIB, 2 * MIB}, start = 0;
    CUmemLocation location = on_device;
    int value;
    (void)state;
    ok(cuMemAlloc(&address, bytes));
    ok(cuMemAllocManaged(&managed, bytes, CU_MEM_ATTACH_GLOBAL));
    CUdeviceptr mixed[2] = {managed, address};
    invalid(cuMemAdvise(address, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
    invalid(cuMemAdvise(address + 4096, 4096, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, on_host));
    invalid(cuMemPrefetchAsync(address, bytes, on_device, 0, stream));
    invalid(cuMemPrefetchAsync(address + bytes - 1, 1, on_host, 0, stream));
    invalid(cuMemPrefetchBatchAsync(&address, &bytes, 1, &location, &start, 1, 0, stream));
    invalid(cuMemPrefetchBatchAsync(mixed, both, 2, &location, &start, 1, 0, stream));
    invalid(cuMemDiscardBatchAsync(mixed, both, 2, 0, stream));
    invalid(cuMemDiscardAndPrefetchBatchAsync(mixed, both, 2, &location, &start, 1, 0, stream));
    invalid(cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, bytes));
    void *values[] = {&value};
    size_t sizes[] = {sizeof value};
    CUmem_range_attribute asked[] = {CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    invalid(cuMemRangeGetAttributes(values, sizes, asked, 1, address, bytes));
    invalid(cuStreamAttachMemAsync(stream, address, 0, CU_MEM_ATTACH_SINGLE));
    ok(cuMemFree(address));
    ok(cuMemFree(managed));
}

static void the_oldest_forms_of_advice_are_refused(void **state)
{
    CUresult (*advise)(CUdeviceptr, size_t, CUmem_advise, CUdevice) = NULL;
    CUresult (*prefetch)(CUdeviceptr, size_t, CUdevice, CUstream) = NULL;
    (void)state;
    CUdeviceptr address = take();
    ok(cuGetProcAddress("cuMemAdvise", (void **)&advise, 8000, 0, NULL));
    ok(cuGetProcAddress("cuMemPrefetchAsync", (void **)&prefetch, 8000, 0, NULL));
    invalid(advise(address, BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    invalid(prefetch(address, BYTES, CU_DEVICE_CPU, stream));
    ok(cuMemFree(address));
}

static void advice_on_managed_memory_is_taken(void **state)
{
    CUdeviceptr managed;
    size_t bytes = 2 * MIB;
    int value = 0;
    (void)state;
    ok(cuMemAllocManaged(&managed, bytes, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemAdvise(managed, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
    ok(cuMemPrefetchAsync(managed, bytes, on_device, 0, stream));
    ok(cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, bytes));
    assert_int_equal(value, 1);
    ok(cuMemDiscardBatchAsync(&managed, &bytes, 1, 0, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuMemFree(managed));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_every_address_of_an_allocation),
        cmocka_unit_test(what_has_no_answer),
        cmocka_unit_test(in_the_plural),
        cmocka_unit_test(each_allocation_has_a_number),
        cmocka_unit_test(synchronous_operations_can_be_made_to_wait),
        cmocka_unit_test(address_ranges),
        cmocka_unit_test(the_device_is_as_large_as_its_memory),
        cmocka_unit_test(it_is_no_host_memory),
#if CUDA_VERSION >= 13000
        cmocka_unit_test(advice_is_refused),
        cmocka_unit_test(the_oldest_forms_of_advice_are_refused),
        cmocka_unit_test(advice_on_managed_memory_is_taken),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
