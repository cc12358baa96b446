/* With a driver of 12.4 that answers a request for a newer version with its newest older function: the older
 * function must not be taken for the newer one, whose arguments differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "numbers.h"
#include "where.h"

static void newer_versions_are_not_invented(void **state)
{
    (void)state;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *function = NULL;
    assert_non_null(driver);
    sl_fn_cuGetProcAddress_v2 *resolver = (sl_fn_cuGetProcAddress_v2 *)dlsym(driver, "cuGetProcAddress_v2");
    assert_int_equal(resolver("cuCtxSynchronize", &function, 13000, 0, NULL), 0);
    assert_true(lies_in(function, "libsluice.so"));
    assert_int_equal(((sl_fn_cuCtxSynchronize *)function)(), NUMBER_cuCtxSynchronize);
    assert_int_equal(resolver("cuCtxCreate", &function, 13000, 0, NULL), 0);
    CUcontext context;
    assert_int_equal(((sl_fn_cuCtxCreate_v3 *)function)(&context, NULL, 0, 0, 0), NUMBER_cuCtxCreate_v3);
    assert_int_equal(resolver("cuMemcpyBatchAsync", &function, 13000, 0, NULL), CUDA_ERROR_NOT_FOUND);
    assert_null(function);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(newer_versions_are_not_invented)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
