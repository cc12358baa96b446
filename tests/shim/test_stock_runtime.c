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

/* What the runtime was given, request by request (observer.c): where the shim has a function, it is the
 * shim's. */
static void every_function_of_the_table_is_the_shims(void **state)
{
    (void)state;
    int ours = 0, slipped = 0;
    const char *first = NULL;
    void (*counts)(int *, int *, const char **) =
        (void (*)(int *, int *, const char **))dlsym(RTLD_DEFAULT, "observer_counts");
    if (!counts) skip(); /* a sanitizer's runtime comes first */
    counts(&ours, &slipped, &first);
    if (slipped) fail_msg("%d functions are the driver's own, first %s", slipped, first);
    assert_in_range(ours, 100, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_requests_pass_the_shim),
        cmocka_unit_test(every_function_of_the_table_is_the_shims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
