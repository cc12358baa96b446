/* What modules take of the device is missing from what is free while they are loaded; with sluice as without.
 */
#include "device.h"

#include <stdio.h>
#include <string.h>

#define TABLE (20 * MIB)

/* A table of 20 MiB, of which the kernel adds the first word to that at `p`. */
static const char image[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 table[5242880];\n"
    ".visible .entry add(.param .u64 p){ .reg .b64 a<3>; .reg .b32 r<3>;\n"
    "ld.param.u64 a0, [p]; mov.u64 a1, table; ld.global.u32 r0, [a0]; ld.global.u32 r1, [a1];\n"
    "add.u32 r0, r0, r1; st.global.u32 [a0], r0; ret; }\n";

static size_t free_now(void)
{
    size_t free_bytes, total_bytes;
    ok(cuMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}

static void a_module_takes_its_table(void **state)
{
    CUmodule module, second;
    (void)state;
    size_t before = free_now();
    ok(cuModuleLoadData(&module, image));
    assert_in_range(before - free_now(), TABLE, TABLE + MIB);
    size_t with_one = free_now();
    ok(cuModuleLoadDataEx(&second, image, 0, NULL, NULL));
    assert_in_range(with_one - free_now(), TABLE, TABLE + MIB);
    ok(cuModuleUnload(module));
    assert_int_equal(free_now(), with_one);
    ok(cuModuleUnload(second));
    assert_int_equal(free_now(), before);
    assert_int_not_equal(cuModuleUnload(second), CUDA_SUCCESS);
    assert_int_equal(free_now(), before);
}

/* Libraries take it when a context first needs them. */
static void a_library_takes_it_once_it_is_used(void **state)
{
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr word, table;
    size_t bytes;
    unsigned result = 0;
    (void)state;
    ok(cuMemAlloc(&word, 4));
    ok(cuMemsetD32(word, 1, 1));
    size_t before = free_now();
    ok(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&kernel, library, "add"));
    void *parameters[] = {&word};
    ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    assert_in_range(before - free_now(), TABLE, TABLE + MIB);
    size_t loaded = free_now();
    ok(cuLibraryGetGlobal(&table, &bytes, library, "table"));
    assert_int_equal(bytes, TABLE);
    assert_int_equal(free_now(), loaded); /* it counts once */
    ok(cuMemsetD32(table, 6, 1));
    ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    ok(cuMemcpyDtoH(&result, word, 4));
    assert_int_equal(result, 7);
    ok(cuLibraryUnload(library));
    assert_int_equal(free_now(), before);
    ok(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetGlobal(&table, &bytes, library, "table"));
    assert_in_range(before - free_now(), TABLE, TABLE + MIB);
    ok(cuLibraryUnload(library));
    assert_int_equal(free_now(), before);
    ok(cuMemFree(word));
}

static void what_cannot_be_loaded_takes_nothing(void **state)
{
    CUmodule module;
    static const char wrong[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n.global .u32 table[5242880];\nwrong\n";
    static const char large[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n.global .u64 table[1000000000000];\n";
    (void)state;
    size_t before = free_now();
    assert_int_not_equal(cuModuleLoadData(&module, wrong), CUDA_SUCCESS);
    assert_int_not_equal(cuModuleLoadData(&module, large), CUDA_SUCCESS);
    assert_int_not_equal(cuModuleLoad(&module, "/none"), CUDA_SUCCESS);
    assert_int_equal(free_now(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_takes_its_table),
        cmocka_unit_test(a_library_takes_it_once_it_is_used),
        cmocka_unit_test(what_cannot_be_loaded_takes_nothing),
    };
    return cmocka_run_group_tests(tests, use_device, NULL);
}
