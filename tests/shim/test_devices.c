/* Several devices in one process, each of which is managed: whose memory is whose, and what ends with what.
 */
#include "device.h"

#include <string.h>

#define VIRTUAL_BYTES (768 * MIB)
#define DEVICES 3
#define BLOCKS 24 /* of a MiB each: more than the budget */

static CUcontext contexts[DEVICES];
static CUstream streams[DEVICES];

static void use(int device)
{
    ok(cuCtxSetCurrent(contexts[device]));
}

static int start(void **state)
{
    (void)state;
    if (cuInit(0)) return -1;
    for (int d = 0; d < DEVICES; d++) {
        if (cuDevicePrimaryCtxRetain(&contexts[d], d) || cuCtxSetCurrent(contexts[d]) ||
            cuStreamCreate(&streams[d], CU_STREAM_NON_BLOCKING))
            return -1;
    }
    return 0;
}

static void expect(CUdeviceptr address, unsigned char value)
{
    unsigned char seen[4096];
    ok(cuMemcpyDtoH(seen, address + MIB - sizeof seen, sizeof seen));
    for (size_t i = 0; i < sizeof seen; i++) assert_int_equal(seen[i], value);
}

static void each_is_managed(void **state)
{
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        CUdeviceptr address;
        CUcontext context;
        int ordinal = -1;
        use(d);
        ok(cuMemAlloc(&address, MIB));
        assert_true(managed_here(VIRTUAL_BYTES));
        use((d + 1) % DEVICES); /* whoever asks */
        assert_true(managed_here(VIRTUAL_BYTES));
        ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
        assert_int_equal(ordinal, d);
        ok(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address));
        assert_ptr_equal(context, contexts[d]);
        ok(cuMemFree(address));
        assert_int_equal(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
    }
}

/* Beyond each one's budget; with copies between them, by threads and in streams of either. */
static void data_go_between_them(void **state)
{
    CUdeviceptr blocks[DEVICES][BLOCKS];
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        for (int b = 0; b < BLOCKS; b++) {
            ok(cuMemAlloc(&blocks[d][b], MIB));
            ok(cuMemsetD8(blocks[d][b], (unsigned char)(40 * d + b), MIB));
        }
        ok(cuCtxSynchronize());
    }
    for (int b = 0; b < BLOCKS; b++) {
        int to = b % DEVICES, from = (b + 1) % DEVICES;
        use(b % 2 ? to : from);
        ok(cuMemcpyPeerAsync(blocks[to][b], contexts[to], blocks[from][b], contexts[from], MIB, streams[to]));
        ok(cuStreamSynchronize(streams[to]));
    }
    for (int d = 0; d < DEVICES; d++) {
        use((d + 1) % DEVICES);
        for (int b = 0; b < BLOCKS; b++) {
            int whose = b % DEVICES == d ? (b + 1) % DEVICES : d;
            expect(blocks[d][b], (unsigned char)(40 * whose + b));
            ok(cuMemFree(blocks[d][b])); /* with another's context */
        }
    }
}

static void pools_are_their_own(void **state)
{
    CUmemoryPool pools[DEVICES], of;
    CUdeviceptr address;
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        use(d);
        ok(cuDeviceGetDefaultMemPool(&pools[d], d));
        ok(cuMemAllocAsync(&address, MIB, streams[d]));
        ok(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
        assert_ptr_equal(of, pools[d]);
        ok(cuMemsetD8Async(address, 1, MIB, streams[d]));
        use((d + 1) % DEVICES);
        ok(cuMemFreeAsync(address, streams[d]));
        use(d);
        ok(cuStreamSynchronize(streams[d]));
    }
}

/* At addresses that were reserved for another one. */
static void memory_is_mapped_for_its_device(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++) {
        CUmemAllocationProp wanted = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
        CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        CUmemGenericAllocationHandle handle;
        CUdeviceptr range;
        use(d);
        ok(cuMemAddressReserve(&range, 4 * MIB, 0, 0, 0));
        ok(cuMemCreate(&handle, 4 * MIB, &wanted, 0));
        ok(cuMemMap(range, 4 * MIB, 0, handle, 0));
        ok(cuMemSetAccess(range, 4 * MIB, &access, 1));
        use(1);
        ok(cuMemsetD8(range, 9, MIB));
        expect(range, 9);
        ok(cuMemUnmap(range, 4 * MIB));
        ok(cuMemRelease(handle));
        ok(cuMemAddressFree(range, 4 * MIB));
        size_t free_bytes, total;
        use(d);
        ok(cuMemGetInfo(&free_bytes, &total));
        assert_int_equal(free_bytes, total); /* what was promised is not any more */
    }
}

/* Of a device's second context the memory is the driver's. */
static void a_second_context_is_not(void **state)
{
    CUcontext second;
    CUdeviceptr address;
    (void)state;
    ok(cuCtxCreate(&second, NULL, 0, 1));
    assert_false(managed_here(VIRTUAL_BYTES));
    ok(cuMemAlloc(&address, MIB));
    ok(cuMemsetD8(address, 3, MIB));
    expect(address, 3);
    ok(cuMemFree(address));
    ok(cuCtxDestroy(second));
    use(1);
    assert_true(managed_here(VIRTUAL_BYTES));
}

/* Last: what one has ends with it, and no more. */
static void one_ends_and_the_others_go_on(void **state)
{
    CUdeviceptr kept, lost, again;
    (void)state;
    use(1);
    ok(cuMemAlloc(&lost, MIB));
    ok(cuMemsetD8(lost, 5, MIB));
    use(0);
    ok(cuMemAlloc(&kept, MIB));
    ok(cuMemsetD8(kept, 6, MIB));
    ok(cuDevicePrimaryCtxReset(1));
    assert_true(managed_here(VIRTUAL_BYTES));
    expect(kept, 6);
    ok(cuDevicePrimaryCtxRetain(&contexts[1], 1));
    use(1);
    assert_false(managed_here(VIRTUAL_BYTES));
    ok(cuMemAlloc(&again, MIB));
    ok(cuMemsetD8(again, 7, MIB));
    expect(again, 7);
    expect(kept, 6);
    use(2);
    assert_true(managed_here(VIRTUAL_BYTES));
    ok(cuDevicePrimaryCtxReset(0));
    ok(cuMemAlloc(&kept, MIB));
    assert_true(managed_here(VIRTUAL_BYTES));
    ok(cuMemFree(kept));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_managed),         cmocka_unit_test(data_go_between_them),
        cmocka_unit_test(pools_are_their_own),     cmocka_unit_test(memory_is_mapped_for_its_device),
        cmocka_unit_test(a_second_context_is_not), cmocka_unit_test(one_ends_and_the_others_go_on),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
