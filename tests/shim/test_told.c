/* Copies of every way, waits and calls that fail, for check_told.py: it knows what the trace must say of
 * them. */
#include "adder.h"

#include <stdlib.h>

static char host[2 * MIB];
static CUstream stream;
static CUdeviceptr here, there;

static void copy_straight(void)
{
    void *pinned;
    ok(cuMemHostAlloc(&pinned, MIB, 0));
    ok(cuMemcpyHtoD(here, host, 1000));
    ok(cuMemcpyDtoH(host, here, 1001));
    ok(cuMemcpyDtoD(there, here, 1002));
    ok(cuMemcpyHtoDAsync(here, pinned, 1003, stream));
    ok(cuMemcpyDtoHAsync(pinned, here, 1004, stream));
    ok(cuMemcpyDtoDAsync(there, here, 1005, stream));
    ok(cuMemcpy(here, (uintptr_t)host, 1006));
    ok(cuMemcpy((uintptr_t)pinned, here, 1007));
    ok(cuMemcpyAsync(there, here, 1008, stream));
    ok(cuMemFreeHost(pinned));
}

static void copy_shaped(void)
{
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = 64,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = here,
                          .dstPitch = 512,
                          .WidthInBytes = 50,
                          .Height = 10};
    ok(cuMemcpy2D(&rows));
    rows = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = here,
                           .srcPitch = 512,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (uintptr_t)host,
                           .dstPitch = 64,
                           .WidthInBytes = 60,
                           .Height = 10};
    ok(cuMemcpy2DAsync(&rows, stream));
}

#if CUDA_VERSION >= 13000
/* As its copies go; one that goes another way makes the direction unknown. */
static void copy_batches(void)
{
    CUdeviceptr to[] = {here, here + 4096}, from[] = {(uintptr_t)host, (uintptr_t)host};
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t bytes[] = {1100, 1200}, starts[] = {0};
    ok(cuMemcpyBatchAsync(to, from, bytes, 2, &attributes, starts, 1, stream));
    from[1] = there;
    ok(cuMemcpyBatchAsync(to, from, bytes, 2, &attributes, starts, 1, stream));
}
#endif

/* The program's own managed memory is the driver's to move: nobody knows where it is. */
static void copy_managed(void)
{
    CUdeviceptr managed;
    ok(cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemcpy(managed, here, 1009));
    ok(cuMemFree(managed));
}

static void wait(void)
{
    CUevent event;
    ok(cuEventCreate(&event, 0));
    ok(cuEventRecord(event, stream));
    ok(cuEventSynchronize(event));
    ok(cuStreamSynchronize(stream));
    ok(cuCtxSynchronize());
    ok(cuEventDestroy(event));
}

static void refuse(CUfunction add)
{
    CUdeviceptr none;
    uint32_t count = 1, value = 1;
    void *parameters[] = {&here, &count, &value};
    assert_int_equal(cuMemAlloc(&none, (size_t)5 << 30), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuMemAllocAsync(&none, (size_t)6 << 30, stream), CUDA_ERROR_OUT_OF_MEMORY);
    CUDA_ARRAY_DESCRIPTOR shape = {
        .Width = 16384, .Height = 131072, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUmemAllocationProp place = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle;
    CUarray array;
    assert_int_equal(cuMemCreate(&handle, (size_t)7 << 30, &place, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_not_equal(cuArrayCreate(&array, &shape), CUDA_SUCCESS); /* softcuda has none */
    assert_int_equal(cuLaunchKernel(add, 1, 1, 1, 1 << 20, 1, 1, 0, stream, parameters, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyHtoD(here, host, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
}

static void tell(void **state)
{
    CUmodule module;
    CUfunction add;
    (void)state;
    ok(cuModuleLoadData(&module, adder_ptx));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuMemAlloc(&here, MIB));
    ok(cuMemAlloc(&there, MIB));
    copy_straight();
    copy_shaped();
    copy_managed();
#if CUDA_VERSION >= 13000
    copy_batches();
#endif
    wait();
    refuse(add);
    ok(cuMemsetD8Async(here, 1, MIB, stream));
    ok(cuMemFree(there));
    ok(cuMemFree(here)); /* there is nothing left to wait for */
    ok(cuCtxSynchronize());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tell)};
    return cmocka_run_group_tests(tests, use_device, NULL);
}
