/* Many threads look functions up at once while the driver is being loaded: each must get the shim's, and none
 * may wait for another that waits for the loader. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "numbers.h"
#include "where.h"

#define THREADS 8

static pthread_barrier_t start;

static void *look_up(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&start);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *function = NULL;
    if (!driver) return "no driver";
    for (int i = 0; i < 100; i++) {
        sl_fn_cuGetProcAddress_v2 *resolver =
            (sl_fn_cuGetProcAddress_v2 *)dlsym(driver, "cuGetProcAddress_v2");
        if (!lies_in((void *)resolver, "libsluice.so")) return "another resolver";
        if (resolver("cuMemFree", &function, 13000, 0, NULL)) return "nothing resolved";
        if (!lies_in(function, "libsluice.so")) return "another function";
        if (((sl_fn_cuMemFree_v2 *)function)(0) != (CUresult)NUMBER_cuMemFree_v2) return "another answer";
    }
    dlclose(driver);
    return NULL;
}

static void all_get_the_shims(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, look_up, NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        void *complaint;
        pthread_join(threads[t], &complaint);
        if (complaint) fail_msg("%s", (const char *)complaint);
    }
    pthread_barrier_destroy(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_get_the_shims)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
