/* dlsym as a shim replaces it must not change who asks: RTLD_NEXT from an object means what follows that
 * object. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "next_object.h"

const char *next_who(void)
{
    return "program";
}

static void next_depends_on_who_asks(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        next_who_fn *from_object = next_from_object(),
                    *from_program = (next_who_fn *)dlsym(RTLD_NEXT, "next_who");
        assert_non_null(from_object);
        assert_non_null(from_program);
        assert_string_equal(from_object(), "last");
        assert_string_equal(from_program(), "object");
        assert_string_equal(((next_who_fn *)default_from_object())(), "program");
    }
}

static void versions_are_kept(void **state)
{
    (void)state;
    assert_ptr_equal((void *)next_version_from_object(), (void *)getenv);
    assert_ptr_equal(dlvsym(RTLD_DEFAULT, "getenv", "GLIBC_2.2.5"), (void *)getenv);
    assert_null(dlvsym(RTLD_DEFAULT, "getenv", "GLIBC_1.0"));
    assert_non_null(strstr(dlerror(), "GLIBC_1.0"));
}

static void both_versions_of_dlsym_answer(void **state)
{
    (void)state;
    typedef void *lookup_fn(void *, const char *);
    const char *versions[] = {"GLIBC_2.2.5", "GLIBC_2.34"};
    for (int i = 0; i < 2; i++) {
        lookup_fn *lookup = (lookup_fn *)dlvsym(RTLD_DEFAULT, "dlsym", versions[i]);
        if (!lookup) continue; /* an older C library, or a younger processor */
        assert_ptr_equal(lookup(RTLD_DEFAULT, "getenv"), (void *)getenv);
        assert_null(lookup(RTLD_DEFAULT, "cudnnCreate"));
        assert_null(lookup(RTLD_DEFAULT, "cu"));
        assert_null(lookup(RTLD_DEFAULT, ""));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_depends_on_who_asks),
        cmocka_unit_test(versions_are_kept),
        cmocka_unit_test(both_versions_of_dlsym_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
