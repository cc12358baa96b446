/* Several devices in one process, each of which is managed: whose memory is whose, and what ends with what.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    assert_true(managed_here(VIRTUAL_BYTES)); /* by another core */
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

/* From one place in the program, whatever the device. */
__attribute__((noinline)) static CUresult export_from(int device)
{
    CUdeviceptr address;
    CUipcMemHandle handle;
    use(device);
    ok(cuMemAlloc(&address, MIB));
    CUresult result = cuIpcGetMemHandle(&handle, address);
    ok(cuMemFree(address));
    return result;
}

/* Where memory of one device was exported, that of all is the driver's. */
static void a_site_is_exported_on_all(void **state)
{
    (void)state;
    static const int order[] = {1, 1, 0, 2};
    for (int i = 0; i < 4; i++)
        assert_int_equal(export_from(order[i]), i ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
}

/* The same in the next run, of which only a further device exports. */
static int run_alone(const char *profile)
{
    int status = -1;
    pid_t child = fork();
    if (!child) {
        setenv("SLUICE_PROFILE", profile, 1);
        execl("/proc/self/exe", "test-devices", "export", (char *)NULL);
        _exit(99);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int export_alone(void)
{
    CUdeviceptr first;
    if (start(NULL)) return 98;
    use(0);
    ok(cuMemAlloc(&first, MIB));
    return export_from(DEVICES - 1) == CUDA_SUCCESS ? 0 : 1;
}

static void a_profile_has_the_exports_of_all(void **state)
{
    (void)state;
    char folder[] = "/tmp/sluice-devices-XXXXXX", profile[64];
    assert_non_null(mkdtemp(folder));
    snprintf(profile, sizeof profile, "%s/profile", folder);
    assert_int_equal(run_alone(profile), 1);
    assert_int_equal(run_alone(profile), 0);
    unlink(profile);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest exports[] = {
        cmocka_unit_test(a_site_is_exported_on_all),
        cmocka_unit_test(a_profile_has_the_exports_of_all),
    };
    if (argc > 1 && !strcmp(argv[1], "export")) return export_alone();
    if (argc > 1) return cmocka_run_group_tests(exports, start, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_managed),         cmocka_unit_test(data_go_between_them),
        cmocka_unit_test(pools_are_their_own),     cmocka_unit_test(memory_is_mapped_for_its_device),
        cmocka_unit_test(a_second_context_is_not), cmocka_unit_test(one_ends_and_the_others_go_on),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
