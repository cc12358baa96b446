/* The vendor's CUDA runtime, linked statically, resolves its hundreds of functions through the shim: not one
 * request passes it by. The driver of numbers.h then has no device to offer, which the runtime must say as it
 * would without the shim. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

static void all_requests_pass_the_shim(void **state)
{
    (void)state;
    int through_shim = 0, direct = -1, devices = 0;
    void *memory;
    assert_int_not_equal(cudaGetDeviceCount(&devices), cudaSuccess);
    assert_int_not_equal(cudaMalloc(&memory, 1024), cudaSuccess);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(driver);
    void (*requests)(int *, int *) = (void (*)(int *, int *))dlsym(driver, "numbers_requests");
    requests(&through_shim, &direct);
    assert_int_equal(direct, 0);
    assert_in_range(through_shim, 400, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_requests_pass_the_shim)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
