/* Virtual memory management: what can be mapped, unmapped, given back and asked is what the driver says of
 * it; with sluice as without. Breaks if bad calls succeed or leave anything behind, if memory ends before its
 * last handle and mapping, or if it is lost sight of. */
#include "device.h"

#include <stdlib.h>
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

static CUdeviceptr base; /* of 8 blocks */
static size_t free_before;

static size_t free_now(void)
{
    size_t free_bytes, total_bytes;
    ok(cuMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}

static int set_up(void **state)
{
    (void)state;
    free_before = free_now();
    return cuMemAddressReserve(&base, 8 * BLOCK, 0, 0, 0) == CUDA_SUCCESS ? 0 : -1;
}

/* Nothing may be left. */
static int tear_down(void **state)
{
    (void)state;
    return cuMemAddressFree(base, 8 * BLOCK) == CUDA_SUCCESS && free_now() == free_before ? 0 : -1;
}

static CUmemGenericAllocationHandle made(size_t bytes)
{
    CUmemGenericAllocationHandle handle;
    ok(cuMemCreate(&handle, bytes, &properties, 0));
    return handle;
}

/* Its handle is released: the mapping alone holds it. */
static void map(size_t block, size_t blocks)
{
    CUmemGenericAllocationHandle handle = made(blocks * BLOCK);
    ok(cuMemMap(base + block * BLOCK, blocks * BLOCK, 0, handle, 0));
    ok(cuMemSetAccess(base + block * BLOCK, blocks * BLOCK, &all, 1));
    ok(cuMemRelease(handle));
}

/* Behind all work, which the driver does not wait for. */
static void unmap(CUdeviceptr address, size_t bytes)
{
    ok(cuCtxSynchronize());
    ok(cuMemUnmap(address, bytes));
}

/* As who shares memory does it: what is exported, and what comes of that, gets addresses after that. */
static void memory_can_be_shared_before_it_is_mapped(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = made(BLOCK), imported;
    CUdeviceptr shared;
    unsigned char host[2] = {0};
    int file = -1;
    ok(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ok(cuMemImportFromShareableHandle(&imported, (void *)(uintptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    assert_int_equal(free_now(), free_before - BLOCK);
    ok(cuMemAddressReserve(&shared, 4 * BLOCK, 0, 0, 0));
    ok(cuMemMap(shared, BLOCK, 0, handle, 0));
    ok(cuMemMap(shared + BLOCK, BLOCK, 0, imported, 0));
    ok(cuMemMap(shared + 2 * BLOCK, BLOCK, 0, handle, 0)); /* a second time */
    ok(cuMemSetAccess(shared, 3 * BLOCK, &all, 1));
    ok(cuMemRelease(imported));
    ok(cuMemsetD8(shared, 6, BLOCK));
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH(host, shared + BLOCK, 1));
    ok(cuMemcpyDtoH(host + 1, shared + 3 * BLOCK - 1, 1));
    assert_true(host[0] == 6 && host[1] == 6);
    map(0, 1); /* other memory, beside what is shared and in addresses of its own */
    CUmemGenericAllocationHandle other = made(BLOCK);
    ok(cuMemMap(shared + 3 * BLOCK, BLOCK, 0, other, 0));
    ok(cuMemSetAccess(shared + 3 * BLOCK, BLOCK, &all, 1));
    ok(cuMemRelease(other));
    ok(cuMemcpyDtoD(base, shared, BLOCK));
    ok(cuMemcpyDtoD(shared + 3 * BLOCK, base, BLOCK));
    ok(cuMemcpyDtoH(host, shared + 4 * BLOCK - 1, 1));
    assert_int_equal(host[0], 6);
    unmap(shared, 4 * BLOCK);
    unmap(base, BLOCK);
    ok(cuMemRelease(handle));
    ok(cuMemAddressFree(shared, 4 * BLOCK));
}

/* The number that is everywhere in a block. */
static void assert_block(CUdeviceptr address, unsigned char number)
{
    unsigned char *host = malloc(BLOCK);
    assert_non_null(host);
    ok(cuMemcpyDtoH(host, address, BLOCK));
    for (size_t i = 0; i < BLOCK; i++) assert_int_equal(host[i], number);
    free(host);
}

static void place(CUdeviceptr address, CUmemGenericAllocationHandle handle)
{
    ok(cuMemMap(address, BLOCK, 0, handle, 0));
    ok(cuMemSetAccess(address, BLOCK, &all, 1));
}

static CUmemGenericAllocationHandle passed_on(CUmemGenericAllocationHandle handle)
{
    CUmemGenericAllocationHandle imported;
    int file = -1;
    ok(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ok(cuMemImportFromShareableHandle(&imported, (void *)(uintptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    return imported;
}

/* The addresses were reserved before, and other memory lies on both sides, with work that is not done. */
static void what_is_shared_lies_beside_other_memory(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle shared = made(BLOCK), imported = passed_on(shared), kept = made(BLOCK);
    CUstream beside;
    ok(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    map(0, 1);
    place(base + BLOCK, kept);
    map(3, 1);
    for (int block = 0; block < 4; block++)
        if (block != 2)
            ok(cuMemsetD8Async(base + (CUdeviceptr)block * BLOCK, (unsigned char)block + 1, BLOCK, beside));
    place(base + 2 * BLOCK, imported);
    ok(cuStreamSynchronize(beside));
    ok(cuStreamDestroy(beside));
    ok(cuMemsetD8(base + 2 * BLOCK, 7, BLOCK));
    assert_block(base, 1);
    assert_block(base + BLOCK, 2);
    assert_block(base + 2 * BLOCK, 7);
    assert_block(base + 3 * BLOCK, 4);
    place(base + 4 * BLOCK, shared);
    assert_block(base + 4 * BLOCK, 7);
    map(5, 1); /* later memory, too */
    ok(cuMemcpyDtoD(base + 5 * BLOCK, base + BLOCK, BLOCK));
    assert_block(base + 5 * BLOCK, 2);
    unmap(base, 6 * BLOCK);
    ok(cuMemRelease(shared));
    ok(cuMemRelease(imported));
    ok(cuMemRelease(kept));
}

static void memory_can_be_shared_after_it_was_mapped(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = made(BLOCK), imported;
    CUmemAllocationProp found;
    unsigned long long flags = 0;
    place(base + BLOCK, handle);
    map(0, 1);
    ok(cuMemsetD8(base, 3, 2 * BLOCK));
    imported = passed_on(handle);
    assert_block(base, 3);
    ok(cuMemGetAccess(&flags, &all.location, base + BLOCK));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok(cuMemGetAllocationPropertiesFromHandle(&found, handle));
    place(base + 6 * BLOCK, imported);
    ok(cuMemsetD8(base + BLOCK, 9, BLOCK));
    assert_block(base + 6 * BLOCK, 9);
    ok(cuMemRelease(handle));
    ok(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)(base + BLOCK)));
    ok(cuMemRelease(handle));
    unmap(base, 2 * BLOCK);
    assert_block(base + 6 * BLOCK, 9);
    unmap(base + 6 * BLOCK, BLOCK);
    ok(cuMemRelease(imported));
}

static void memory_moves_with_its_content(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle first = made(BLOCK), second = made(BLOCK);
    place(base, first);
    ok(cuMemsetD8Async(base, 1, BLOCK, 0));
    unmap(base, BLOCK);
    place(base, second); /* where the first was */
    ok(cuMemsetD8Async(base, 2, BLOCK, 0));
    place(base + BLOCK, first);
    assert_block(base, 2);
    assert_block(base + BLOCK, 1);
    unmap(base, 2 * BLOCK);
    place(base + BLOCK, second); /* exchanged */
    place(base, first);
    assert_block(base, 1);
    assert_block(base + BLOCK, 2);
    place(base + 2 * BLOCK, first); /* at two places at once */
    ok(cuMemsetD8(base + 2 * BLOCK, 5, BLOCK));
    assert_block(base, 5);
    assert_int_equal(free_now(), free_before - 2 * BLOCK);
    unmap(base, 3 * BLOCK);
    ok(cuMemRelease(first));
    ok(cuMemRelease(second));
}

/* As an array that grows: where no addresses are free behind it, all of it is mapped at others. */
static void memory_outlives_its_addresses(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = made(BLOCK), other = made(BLOCK);
    CUdeviceptr narrow, wide;
    ok(cuMemAddressReserve(&narrow, 2 * BLOCK, 0, 0, 0));
    place(narrow, handle);
    place(narrow + BLOCK, other);
    ok(cuMemsetD8Async(narrow, 4, 2 * BLOCK, 0));
    unmap(narrow, 2 * BLOCK);
    ok(cuMemAddressFree(narrow, 2 * BLOCK));
    assert_int_equal(cuMemMap(narrow, BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressFree(narrow, 2 * BLOCK), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemAddressReserve(&wide, 4 * BLOCK, 0, narrow, 0));
    assert_int_equal(free_now(), free_before - 2 * BLOCK);
    place(wide + 2 * BLOCK, handle);
    assert_block(wide + 2 * BLOCK, 4);
    ok(cuMemRelease(other)); /* with the addresses that it had */
    assert_int_equal(free_now(), free_before - BLOCK);
    unmap(wide + 2 * BLOCK, BLOCK);
    ok(cuMemRelease(handle));
    ok(cuMemAddressFree(wide, 4 * BLOCK));
}

/* A mapping that the driver refuses leaves the memory as it was, and so does an export. */
static void what_is_refused_changes_nothing(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = made(BLOCK);
    int file = -1;
    assert_int_equal(cuMemMap(base + 8 * BLOCK, BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap((CUdeviceptr)64 * MIB, BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_not_equal(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0),
                         CUDA_SUCCESS);
    assert_int_equal(cuMemMap(base, BLOCK, 0, (CUmemGenericAllocationHandle)12345, 0),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(free_now(), free_before - BLOCK);
    place(base, handle);
    map(1, 1);
    ok(cuMemsetD8(base, 8, 2 * BLOCK));
    assert_int_equal(cuMemMap(base + BLOCK, BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE); /* taken */
    assert_int_equal(cuMemMap(base + 2 * BLOCK, 2 * BLOCK, 0, handle, 0),
                     CUDA_ERROR_INVALID_VALUE); /* too long */
    assert_block(base + BLOCK, 8);
    ok(cuMemRelease(handle));
    ok(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)base));
    ok(cuMemRelease(handle));
    unmap(base, 2 * BLOCK);
}

static void memory_is_what_was_written(void **state)
{
    (void)state;
    unsigned char *host = malloc(2 * BLOCK);
    assert_non_null(host);
    map(0, 1);
    map(1, 1);
    ok(cuMemsetD8(base + BLOCK / 2, 7, BLOCK)); /* across both */
    ok(cuMemsetD8(base + BLOCK / 2 + BLOCK, 9, BLOCK / 2));
    ok(cuMemcpyDtoH(host, base, 2 * BLOCK));
    for (size_t i = BLOCK / 2; i < 2 * BLOCK; i++) assert_int_equal(host[i], i < BLOCK / 2 * 3 ? 7 : 9);
    memset(host, 5, 2 * BLOCK);
    ok(cuMemcpyHtoD(base, host, 2 * BLOCK));
    ok(cuMemcpyDtoD(base + 512, base + BLOCK, BLOCK));
    memset(host, 0, 2 * BLOCK);
    ok(cuMemcpyDtoH(host, base, 2 * BLOCK));
    for (size_t i = 0; i < 2 * BLOCK; i++) assert_int_equal(host[i], 5);
    unmap(base, 2 * BLOCK);
    free(host);
}

static void nothing_reaches_beyond_what_is_mapped(void **state)
{
    (void)state;
    unsigned char host[16] = {0};
    map(0, 1);
    map(1, 1);
    map(3, 1);
    assert_int_equal(cuMemsetD8(base + 2 * BLOCK - 8, 1, 16), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD8(base + 2 * BLOCK, 1, 16), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyDtoH(host, base + 4 * BLOCK - 8, 16), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemsetD8(base + BLOCK - 8, 1, 16));
    unmap(base, 2 * BLOCK);
    assert_int_equal(cuMemsetD8(base, 1, 16), CUDA_ERROR_INVALID_VALUE);
    unmap(base + 3 * BLOCK, BLOCK);
}

static void bad_mappings_are_refused(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = made(2 * BLOCK);
    map(2, 2);
    size_t before = free_now();
    assert_int_equal(cuMemMap(base + 3 * BLOCK, 2 * BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base + BLOCK, 2 * BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base + 2 * BLOCK, 2 * BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base + 7 * BLOCK, 2 * BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base + 4 * BLOCK, 3 * BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base, 0, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base + 512, 2 * BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base, BLOCK + 512, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base, BLOCK, 2 * MIB, handle, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base, 2 * BLOCK, 0, handle, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(free_now(), before);
    ok(cuMemMap(base, 2 * BLOCK, 0, handle, 0)); /* it was left as it was */
    unmap(base, 4 * BLOCK);
    ok(cuMemRelease(handle));
    assert_int_equal(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemMap(base, 2 * BLOCK, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
}

static void only_whole_mappings_are_unmapped(void **state)
{
    (void)state;
    map(1, 2);
    map(3, 1);
    assert_int_equal(cuMemUnmap(base, BLOCK), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemUnmap(base + BLOCK, BLOCK), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemUnmap(base + 2 * BLOCK, 2 * BLOCK), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemUnmap(base, 4 * BLOCK), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemUnmap(base + BLOCK, 4 * BLOCK), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemUnmap(base + BLOCK, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(free_now(), free_before - 3 * BLOCK);
    ok(cuMemsetD8(base + BLOCK, 1, 3 * BLOCK));
    unmap(base + BLOCK, 3 * BLOCK);
    assert_int_equal(cuMemUnmap(base + BLOCK, BLOCK), CUDA_ERROR_INVALID_VALUE);
}

static void addresses_in_use_stay(void **state)
{
    (void)state;
    map(5, 1);
    assert_int_equal(cuMemAddressFree(base, 8 * BLOCK), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressFree(base, 4 * BLOCK), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressFree(base + 4 * BLOCK, 4 * BLOCK), CUDA_ERROR_INVALID_VALUE);
    assert_int_not_equal(cuMemFree(base + 5 * BLOCK), CUDA_SUCCESS);
    assert_int_not_equal(cuMemFreeAsync(base + 5 * BLOCK, NULL), CUDA_SUCCESS);
    ok(cuMemsetD8(base + 5 * BLOCK, 1, BLOCK));
    unmap(base + 5 * BLOCK, BLOCK);
    assert_int_equal(cuMemAddressFree(base, 4 * BLOCK), CUDA_ERROR_INVALID_VALUE);
}

static void bad_reservations_are_refused(void **state)
{
    (void)state;
    CUdeviceptr address = 77, other;
    assert_int_equal(cuMemAddressReserve(&address, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressReserve(&address, 2 * MIB, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressReserve(&address, 2 * MIB, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(address, 77);
    ok(cuMemAddressReserve(&address, 2 * MIB, 64 * MIB, 0, 0));
    assert_int_equal(address % (64 * MIB), 0);
    ok(cuMemAddressReserve(&other, 2 * MIB, 0, address, 0)); /* wanted, but taken */
    assert_int_not_equal(other, address);
    ok(cuMemAddressFree(other, 2 * MIB));
    ok(cuMemAddressFree(address, 2 * MIB));
    assert_int_equal(cuMemAddressFree(address, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
}

static void memory_lives_as_long_as_it_is_held(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = made(BLOCK), again;
    unsigned char host[2] = {0};
    assert_int_equal(free_now(), free_before - BLOCK);
    ok(cuMemMap(base, BLOCK, 0, handle, 0));
    ok(cuMemSetAccess(base, BLOCK, &all, 1));
    ok(cuMemRelease(handle));
    ok(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(base + BLOCK - 1)));
    assert_int_equal(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)(base + BLOCK)),
                     CUDA_ERROR_INVALID_VALUE);
    ok(cuMemsetD8(base, 3, BLOCK));
    unmap(base, BLOCK);
    assert_int_equal(free_now(), free_before - BLOCK);
    assert_int_equal(cuMemsetD8(base, 4, BLOCK), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemMap(base, BLOCK, 0, again, 0)); /* at the same place, and all of it is there */
    ok(cuMemSetAccess(base, BLOCK, &all, 1));
    ok(cuMemcpyDtoH(host, base, 1));
    ok(cuMemcpyDtoH(host + 1, base + BLOCK - 1, 1));
    assert_true(host[0] == 3 && host[1] == 3);
    unmap(base, BLOCK);
    ok(cuMemRelease(again));
    assert_int_equal(free_now(), free_before);
}

static void what_memory_is_can_be_asked(void **state)
{
    (void)state;
    CUmemAllocationProp found;
    CUmemGenericAllocationHandle handle = made(BLOCK);
    CUdeviceptr begin;
    size_t bytes, granularity;
    ok(cuMemGetAllocationPropertiesFromHandle(&found, handle));
    assert_int_equal(found.type, properties.type);
    assert_int_equal(found.requestedHandleTypes, properties.requestedHandleTypes);
    assert_int_equal(found.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    ok(cuMemGetAllocationGranularity(&granularity, &found, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    ok(cuMemMap(base, BLOCK, 0, handle, 0));
    ok(cuMemSetAccess(base, BLOCK, &all, 1));
    ok(cuMemRelease(handle));
    ok(cuMemGetAddressRange(&begin, &bytes, base + 512));
    assert_true(begin == base && bytes == BLOCK);
    struct {
        unsigned type;
        CUdeviceptr pointer;
        int managed, device, mapped;
    } attribute;
    ok(cuPointerGetAttribute(&attribute.type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + 512));
    ok(cuPointerGetAttribute(&attribute.pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, base + 512));
    ok(cuPointerGetAttribute(&attribute.managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, base + 512));
    ok(cuPointerGetAttribute(&attribute.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base + 512));
    ok(cuPointerGetAttribute(&attribute.mapped, CU_POINTER_ATTRIBUTE_MAPPED, base + 512));
    assert_int_equal(attribute.type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(attribute.pointer, base + 512);
    assert_true(!attribute.managed && attribute.device == 0 && attribute.mapped);
    unmap(base, BLOCK);
    assert_int_not_equal(cuPointerGetAttribute(&attribute.type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base),
                         CUDA_SUCCESS);
    assert_int_not_equal(cuMemGetAddressRange(&begin, &bytes, base), CUDA_SUCCESS);
}

static void access_is_what_was_said(void **state)
{
    (void)state;
    CUmemAccessDesc access = all;
    unsigned long long flags = 77;
    CUmemGenericAllocationHandle handle = made(BLOCK);
    assert_int_equal(cuMemSetAccess(base, BLOCK, &all, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemGetAccess(&flags, &all.location, base), CUDA_ERROR_INVALID_VALUE);
    ok(cuMemMap(base, BLOCK, 0, handle, 0));
    ok(cuMemRelease(handle));
    ok(cuMemGetAccess(&flags, &all.location, base));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    ok(cuMemSetAccess(base, BLOCK, &all, 1));
    ok(cuMemGetAccess(&flags, &all.location, base + BLOCK - 1));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access.flags = 2;
    assert_int_equal(cuMemSetAccess(base, BLOCK, &access, 1), CUDA_ERROR_INVALID_VALUE);
    access = all;
    access.location.id = 9;
    assert_int_equal(cuMemSetAccess(base, BLOCK, &access, 1), CUDA_ERROR_INVALID_DEVICE);
    access.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    assert_int_equal(cuMemSetAccess(base, BLOCK, &access, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemSetAccess(base, BLOCK, &all, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemSetAccess(base, 2 * BLOCK, &all, 1), CUDA_ERROR_INVALID_VALUE);
    unmap(base, BLOCK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(memory_can_be_shared_before_it_is_mapped),
        TEST(what_is_refused_changes_nothing),
        TEST(memory_moves_with_its_content),
        TEST(memory_outlives_its_addresses),
        TEST(what_is_shared_lies_beside_other_memory),
        TEST(memory_can_be_shared_after_it_was_mapped),
        TEST(memory_is_what_was_written),
        TEST(nothing_reaches_beyond_what_is_mapped),
        TEST(bad_mappings_are_refused),
        TEST(only_whole_mappings_are_unmapped),
        TEST(addresses_in_use_stay),
        TEST(bad_reservations_are_refused),
        TEST(memory_lives_as_long_as_it_is_held),
        TEST(what_memory_is_can_be_asked),
        TEST(access_is_what_was_said),
    };
    return cmocka_run_group_tests(tests, use_device, NULL);
}
