/* What memory of ours that is mapped cannot do is refused where the driver cannot take it over, with the one
 * error that docs/interception.md names, and changes nothing: the driver gives no addresses again (argument
 * `addresses`, a fault of the device), or a stream captures. Without an argument: a library that makes memory
 * in order to share it gets the driver's, which can do all that. */
#include "device.h"
#include "sharing.h"

#include <string.h>
#include <unistd.h>

#define BLOCK (4 * MIB)

static const CUmemAllocationProp properties = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
};
static const CUmemAccessDesc all = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static CUdeviceptr base; /* of 4 blocks, the first of them mapped */
static CUmemGenericAllocationHandle handle;

static int set_up(void **state)
{
    (void)state;
    return cuMemAddressReserve(&base, 4 * BLOCK, 0, 0, 0) || cuMemCreate(&handle, BLOCK, &properties, 0) ||
                   cuMemMap(base, BLOCK, 0, handle, 0) || cuMemSetAccess(base, BLOCK, &all, 1) ||
                   cuMemsetD8(base, 3, BLOCK)
               ? -1
               : 0;
}

/* What was refused left it as it was. */
static int tear_down(void **state)
{
    unsigned char host = 0;
    (void)state;
    return cuMemcpyDtoH(&host, base + BLOCK - 1, 1) || host != 3 || cuMemUnmap(base, BLOCK) ||
                   cuMemRelease(handle) || cuMemAddressFree(base, 4 * BLOCK)
               ? -1
               : 0;
}

static void a_second_mapping(void **state)
{
    (void)state;
    assert_int_equal(cuMemMap(base + BLOCK, BLOCK, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuMemUnmap(base, BLOCK));
    assert_int_equal(cuMemMap(base + BLOCK, BLOCK, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuMemMap(base, BLOCK, 0, handle, 0));
    ok(cuMemSetAccess(base, BLOCK, &all, 1));
}

static void an_export_after_it_was_mapped(void **state)
{
    (void)state;
    int file = -1;
    assert_int_equal(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                     CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(file, -1);
}

static void memory_of_the_drivers_beside_it(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle exported;
    int file = -1;
    ok(cuMemCreate(&exported, BLOCK, &properties, 0));
    ok(cuMemExportToShareableHandle(&file, exported, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(file);
    assert_int_equal(cuMemMap(base + BLOCK, BLOCK, 0, exported, 0), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuMemRelease(exported));
}

static void while_a_stream_captures(void **state)
{
    CUstream stream;
    CUgraph graph;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    a_second_mapping(state);
    an_export_after_it_was_mapped(state);
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuStreamDestroy(stream));
    ok(cuMemMap(base + BLOCK, BLOCK, 0, handle, 0)); /* afterwards it can be done */
    ok(cuMemUnmap(base + BLOCK, BLOCK));
}

static void a_library_that_shares_memory_can(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle shared;
    CUdeviceptr address;
    int file = -1;
    ok(sharing_make(&shared, &address, BLOCK));
    assert_int_equal(shared >> 63, 0); /* no handle of ours */
    ok(cuMemExportToShareableHandle(&file, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(file);
    ok(cuMemsetD8(address, 1, BLOCK));
    ok(cuCtxSynchronize());
    ok(sharing_end(shared, address, BLOCK));
}

static void its_plain_memory_can_be_exported(void **state)
{
    (void)state;
    CUdeviceptr address;
    CUipcMemHandle exported;
    int managed = 1;
    for (int i = 0; i < 2; i++) {
        ok(sharing_allocate(&address, BLOCK));
        ok(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
        assert_int_equal(managed, 0);
        ok(cuIpcGetMemHandle(&exported, address));
        ok(cuMemFree(address));
    }
    ok(cuMemAlloc(&address, BLOCK)); /* another caller's */
    assert_int_equal(cuIpcGetMemHandle(&exported, address), CUDA_ERROR_NOT_SUPPORTED);
    ok(cuMemFree(address));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest addresses[] = {
        TEST(a_second_mapping),
        TEST(an_export_after_it_was_mapped),
        TEST(memory_of_the_drivers_beside_it),
    };
    const struct CMUnitTest tests[] = {
        TEST(while_a_stream_captures),
        TEST(a_library_that_shares_memory_can),
        TEST(its_plain_memory_can_be_exported),
    };
    if (argc > 1 && !strcmp(argv[1], "addresses")) return cmocka_run_group_tests(addresses, use_device, NULL);
    return cmocka_run_group_tests(tests, use_device, NULL);
}
