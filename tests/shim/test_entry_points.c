/* The fourth way to the driver: the runtime's cudaGetDriverEntryPoint, as PyTorch, NCCL and JAX use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "where.h"

static void *entry_point(const char *name, unsigned version, unsigned long long flags)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    assert_int_equal(cudaGetDriverEntryPointByVersion(name, &function, version, flags, &found), cudaSuccess);
    assert_int_equal(found, cudaDriverEntryPointSuccess);
    return function;
}

static void entry_points_are_the_shims(void **state)
{
    (void)state;
    assert_true(lies_in(entry_point("cuMemAlloc", 3020, cudaEnableDefault), "libsluice.so"));
    assert_true(lies_in(entry_point("cuLaunchKernel", 12000, cudaEnableDefault), "libsluice.so"));
    assert_true(lies_in(entry_point("cuGetProcAddress", 12000, cudaEnableDefault), "libsluice.so"));
    assert_true(lies_in(entry_point("cuInit", 2000, cudaEnableDefault), "libcuda.so.1"));
}

static void stream_variants_are_kept(void **state)
{
    (void)state;
    Dl_info info;
    assert_true(dladdr(entry_point("cuLaunchKernel", 12000, cudaEnablePerThreadDefaultStream), &info) != 0);
    assert_string_equal(info.dli_sname, "cuLaunchKernel_ptsz");
    assert_true(dladdr(entry_point("cuMemcpyHtoD", 12000, cudaEnablePerThreadDefaultStream), &info) != 0);
    assert_string_equal(info.dli_sname, "cuMemcpyHtoD_v2_ptds");
}

static void the_runtimes_memory_is_ours(void **state)
{
    (void)state;
    void *memory;
    size_t free_bytes, total_bytes;
    struct cudaPointerAttributes attributes;
    assert_int_equal(cudaMalloc(&memory, 300u << 20), cudaSuccess); /* the device has 256 MiB */
    assert_int_equal(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
    assert_int_equal(total_bytes, 768u << 20);
    assert_int_equal(cudaPointerGetAttributes(&attributes, memory), cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_int_equal(cudaFree(memory), cudaSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_runtimes_memory_is_ours),
        cmocka_unit_test(entry_points_are_the_shims),
        cmocka_unit_test(stream_variants_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
