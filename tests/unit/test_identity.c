/* Which program this is: another build of it is noticed. This program has no build id. */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/objects.h"

static struct sl_object *objects;
static uint32_t object_count;
static char libc_name[256]; /* of its file, without the folder */

static int free_objects(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < object_count; i++) free(objects[i].name);
    free(objects);
    objects = NULL;
    object_count = 0;
    return 0;
}

static void collect(void)
{
    free_objects(NULL);
    assert_true(sl_identity_collect(&objects, &object_count));
}

static enum sl_identity_match match(const char **which)
{
    *which = NULL;
    return sl_identity_match(objects, object_count, which);
}

static void a_name_has_no_folder(void **state)
{
    (void)state;
    uint64_t name = sl_identity_of_name("libm.so.6");
    assert_int_equal(sl_identity_of_name("/usr/lib/libm.so.6"), name);
    assert_int_equal(sl_identity_of_name("../libm.so.6"), name);
    assert_int_not_equal(sl_identity_of_name("/usr/lib/libm.so.7"), name);
    assert_int_not_equal(sl_identity_of_name("libm.6.so"), name);
    assert_int_equal(sl_identity_of_name(""), 0);
    assert_int_equal(sl_identity_of_name("/usr/lib/"), 0);
}

/* Libraries that never stood on an allocation's stack may be updated as anybody likes. */
static void the_program_and_what_was_noted_are_collected(void **state)
{
    (void)state;
    sl_identity_note(0);
    sl_identity_note(sl_identity_of_name("libno_such_library.so"));
    collect();
    assert_int_equal(object_count, 1);
    assert_string_equal(objects[0].name, "test-identity");
    uint64_t first[2];
    memcpy(first, objects[0].build_id, sizeof(first));
    assert_true(first[0] || first[1]); /* zeros would fit any build */
    for (int i = 0; i < 3; i++) sl_identity_note(sl_identity_of_name(libc_name));
    collect();
    assert_int_equal(object_count, 2);
    assert_string_equal(objects[0].name, "test-identity");
    assert_memory_equal(objects[0].build_id, first, sizeof(first));
    assert_string_equal(objects[1].name, libc_name);
    assert_true(objects[1].build_id[0] || objects[1].build_id[1]);
    assert_memory_not_equal(objects[1].build_id, first, sizeof(first));
}

static void what_is_loaded_fits_itself(void **state)
{
    (void)state;
    const char *which;
    collect();
    assert_int_equal(object_count, 2);
    assert_int_equal(match(&which), SL_IDENTITY_FITS);
    assert_int_equal(sl_identity_match(NULL, 0, &which), SL_IDENTITY_FITS); /* nothing is known */
}

/* Any bit of a build id, of the program's or of a library's. */
static void another_build_is_named(void **state)
{
    (void)state;
    const char *which;
    collect();
    for (uint32_t i = 0; i < object_count; i++) {
        for (int half = 0; half < 2; half++) {
            objects[i].build_id[half] ^= (uint64_t)1 << 63;
            assert_int_equal(match(&which), SL_IDENTITY_OTHER_VERSION);
            assert_string_equal(which, objects[i].name);
            objects[i].build_id[half] ^= (uint64_t)1 << 63;
        }
    }
    assert_int_equal(match(&which), SL_IDENTITY_FITS);
}

static void another_program_has_another_name(void **state)
{
    (void)state;
    const char *which;
    collect();
    objects[0].name[0] ^= 1;
    assert_int_equal(match(&which), SL_IDENTITY_OTHER_PROGRAM);
    assert_string_equal(which, objects[0].name);
}

static void what_is_not_known_or_not_loaded_fits(void **state)
{
    (void)state;
    const char *which;
    collect();
    for (uint32_t i = 0; i < object_count; i++) memset(objects[i].build_id, 0, sizeof(objects[i].build_id));
    assert_int_equal(match(&which), SL_IDENTITY_FITS);
    objects[1].name[0] ^= 1;
    objects[1].build_id[0] = 1;
    assert_int_equal(match(&which), SL_IDENTITY_FITS);
}

/* A library that has the program's name is not the program, and the program is no library. */
static void the_first_is_the_program_and_only_it(void **state)
{
    (void)state;
    const char *which;
    collect();
    free(objects[1].name);
    objects[1].name = strdup(objects[0].name);
    assert_non_null(objects[1].name);
    objects[1].build_id[0] ^= 1;
    assert_int_equal(match(&which), SL_IDENTITY_FITS);
}

/* There is room for a number of names; a program with more keeps those that came first. The last test:
 * nothing can be noted any more afterwards. */
static void too_many_names_are_dropped(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "lib%d.so", i);
        sl_identity_note(sl_identity_of_name(name));
    }
    collect();
    assert_int_equal(object_count, 2);
}

static int name_libc(void **state)
{
    (void)state;
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)puts, &info) && !dladdr(stdout, &info)) return -1;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(libc_name, sizeof(libc_name), "%s", slash ? slash + 1 : info.dli_fname);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_no_folder),
        cmocka_unit_test_teardown(the_program_and_what_was_noted_are_collected, free_objects),
        cmocka_unit_test_teardown(what_is_loaded_fits_itself, free_objects),
        cmocka_unit_test_teardown(another_build_is_named, free_objects),
        cmocka_unit_test_teardown(another_program_has_another_name, free_objects),
        cmocka_unit_test_teardown(what_is_not_known_or_not_loaded_fits, free_objects),
        cmocka_unit_test_teardown(the_first_is_the_program_and_only_it, free_objects),
        cmocka_unit_test_teardown(too_many_names_are_dropped, free_objects),
    };
    return cmocka_run_group_tests(tests, name_libc, NULL);
}
