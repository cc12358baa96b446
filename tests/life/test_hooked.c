/* Two objects that replace dlsym, in either order: each sees what it is there for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../shim/numbers.h"
#include "../shim/where.h"

static void the_driver_is_found_through_the_shim(void **state)
{
    (void)state;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(driver);
    for (int i = 0; i < 2; i++) {
        sl_fn_cuMemFree_v2 *function = (sl_fn_cuMemFree_v2 *)dlsym(driver, "cuMemFree_v2");
        assert_true(lies_in((void *)function, "libsluice.so"));
        assert_int_equal(function(0), NUMBER_cuMemFree_v2);
    }
    assert_true(lies_in(dlsym(driver, "cuInit"), "libcuda.so.1"));
}

static void the_other_hook_still_answers(void **state)
{
    (void)state;
    const unsigned long *count = dlsym(RTLD_DEFAULT, "hook_count");
    assert_non_null(count);
    unsigned long before = *count;
    void *own = dlsym(RTLD_DEFAULT, "the_hooks_own");
    assert_true(lies_in(own, "dlsym-hook"));
    assert_ptr_equal(dlsym(RTLD_DEFAULT, "getenv"), (void *)getenv);
    assert_int_equal(*count, before + 2);
}

static void a_missing_name_is_an_error(void **state)
{
    (void)state;
    assert_null(dlsym(RTLD_DEFAULT, "no_such_function"));
    assert_non_null(strstr(dlerror(), "no_such_function"));
    assert_null(dlsym(RTLD_DEFAULT, "cuNoSuchFunction"));
    assert_non_null(strstr(dlerror(), "cuNoSuchFunction"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_is_found_through_the_shim),
        cmocka_unit_test(the_other_hook_still_answers),
        cmocka_unit_test(a_missing_name_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
