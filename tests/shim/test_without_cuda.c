/* A process that has no driver must not see one in the shim, and must not pay for it. */
#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda.h>

/* Weak: the program runs with and without a driver. */
extern CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) __attribute__((weak));

static void no_function_of_the_driver_is_found(void **state)
{
    (void)state;
    assert_null(dlsym(RTLD_DEFAULT, "cuInit"));
    assert_null(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    assert_non_null(strstr(dlerror(), "cuMemAlloc_v2"));
    assert_null(dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
    assert_non_null(dlerror());
    void *self = dlopen(NULL, RTLD_NOW);
    assert_null(dlsym(self, "cuGetProcAddress_v2"));
    assert_null(dlopen("libcuda.so.1", RTLD_NOW));
}

static void a_weak_reference_fails_like_a_missing_driver(void **state)
{
    (void)state;
    size_t free_bytes, total_bytes;
    if (!cuMemGetInfo_v2) return;
    assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_ERROR_NOT_FOUND);
}

static int count_entries(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

/* The options that the test sets name a trace and a file of statistics: neither may come to be, and no
 * thread. */
static void nothing_is_opened_or_started(void **state)
{
    (void)state;
    assert_int_equal(count_entries("/proc/self/task"), 3);
    const char *trace = getenv("SLUICE_TRACE"), *stats = getenv("SLUICE_STATS");
    assert_true(trace && stats);
    assert_int_not_equal(access(trace, F_OK), 0);
    assert_int_not_equal(access(stats, F_OK), 0);
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) assert_null(strstr(line, "libcuda"));
    fclose(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_opened_or_started),
        cmocka_unit_test(no_function_of_the_driver_is_found),
        cmocka_unit_test(a_weak_reference_fails_like_a_missing_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
