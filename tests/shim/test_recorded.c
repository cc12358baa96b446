/* Takes the driver's memory in every way, sets it, frees it. check_recorded.py reads what the trace tells. */
#include "device.h"

#define BLOCK (2 * MIB)

static CUstream stream;

static int set_up(void **state)
{
    if (use_device(state)) return -1;
    return cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS ? 0 : -1;
}

static void by_every_call(void **state)
{
    CUdeviceptr plain, pitched, ordered, managed;
    size_t pitch;
    (void)state;
    ok(cuMemAlloc(&plain, 1000));
    ok(cuMemAllocPitch(&pitched, &pitch, 500, 3, 4));
    assert_int_equal(pitch, 512);
    ok(cuMemAllocAsync(&ordered, 3000, stream));
    ok(cuMemAllocManaged(&managed, 4000, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemsetD8(plain + 100, 1, 900));
    ok(cuMemsetD2D8(pitched, pitch, 2, 500, 3));
    ok(cuMemsetD8Async(ordered, 3, 3000, stream));
    ok(cuMemsetD8(managed, 4, 4000));
    ok(cuMemFreeAsync(ordered, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuMemFree(managed));
    ok(cuMemFree(pitched));
    ok(cuMemFree(plain));
}

static void by_mapping(void **state)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    (void)state;
    ok(cuMemAddressReserve(&address, 2 * BLOCK, 0, 0, 0));
    for (unsigned i = 0; i < 2; i++) {
        ok(cuMemCreate(&handle, BLOCK, &properties, 0));
        ok(cuMemMap(address + i * BLOCK, BLOCK, 0, handle, 0));
        ok(cuMemRelease(handle));
    }
    ok(cuMemSetAccess(address, 2 * BLOCK, &access, 1));
    ok(cuMemsetD8(address + BLOCK - 512, 5, BLOCK));
    ok(cuCtxSynchronize());
    ok(cuMemUnmap(address, 2 * BLOCK));
    ok(cuMemAddressFree(address, 2 * BLOCK));
}

/* What the driver does not free is still there. */
static void a_free_that_is_refused(void **state)
{
    CUdeviceptr kept;
    CUgraph graph;
    (void)state;
    ok(cuMemAlloc(&kept, 6000));
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_not_equal(cuMemFree(kept), CUDA_SUCCESS);
    cuStreamEndCapture(stream, &graph);
    ok(cuMemsetD8(kept, 6, 6000));
    ok(cuMemFree(kept));
    assert_int_equal(cuMemFree(kept), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_every_call),
        cmocka_unit_test(by_mapping),
        cmocka_unit_test(a_free_that_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
