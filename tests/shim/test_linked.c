/* Bound to the driver by the linker: calls by name pass through the shim and arrive at the right function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "numbers.h"
#include "where.h"

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream);
CUresult CUDAAPI cuCtxDestroy(CUcontext context);

static void calls_by_name_arrive(void **state)
{
    (void)state;
    CUdeviceptr address;
    assert_int_equal(cuMemAlloc_v2(&address, 16), NUMBER_cuMemAlloc_v2);
    assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), NUMBER_cuLaunchKernel);
    assert_int_equal(cuCtxSynchronize(), NUMBER_cuCtxSynchronize);
    assert_int_equal(cuCtxDestroy(NULL), NUMBER_cuCtxDestroy);
    assert_int_equal(cuStreamBeginCapture(NULL), NUMBER_cuStreamBeginCapture);
    assert_true(lies_in((const void *)cuMemAlloc_v2, "libsluice.so"));
}

static void the_next_definition_is_the_shims(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        void *function = dlsym(RTLD_NEXT, "cuMemFree_v2");
        assert_true(lies_in(function, "libsluice.so"));
        assert_int_equal(((sl_fn_cuMemFree_v2 *)function)(0), NUMBER_cuMemFree_v2);
        assert_true(lies_in(dlsym(RTLD_NEXT, "cuInit"), "libcuda.so.1"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_by_name_arrive),
        cmocka_unit_test(the_next_definition_is_the_shims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
