/* What is added to PyTorch's variables, and when nothing is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"

#define OLD "PYTORCH_CUDA_ALLOC_CONF"
#define NEW "PYTORCH_ALLOC_CONF"
#define CACHING "PYTORCH_NO_CUDA_MEMORY_CACHING"

static bool prepare(void)
{
    static char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY];
    size_t count = sl_framework_settings(entries);
    for (size_t i = 0; i < count; i++) {
        char *value = strchr(entries[i], '=');
        *value++ = 0;
        setenv(entries[i], value, 1);
    }
    return count > 0;
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void is(const char *name, const char *value)
{
    if (value)
        assert_string_equal(getenv(name), value);
    else
        assert_null(getenv(name));
}

/* Both variables before and after. */
static void becomes(const char *old_before, const char *new_before, const char *old_after,
                    const char *new_after)
{
    set(OLD, old_before);
    set(NEW, new_before);
    set(CACHING, NULL);
    assert_true(prepare());
    is(OLD, old_after);
    is(NEW, new_after);
    assert_false(prepare()); /* a child process finds it chosen */
}

static void the_allocator_is_added_where_none_is_chosen(void **state)
{
    (void)state;
    becomes(NULL, NULL, "backend:cudaMallocAsync", NULL);
    becomes("", NULL, "backend:cudaMallocAsync", NULL);
    becomes("pinned_use_cuda_host_register:True", NULL,
            "pinned_use_cuda_host_register:True,backend:cudaMallocAsync", NULL);
}

/* An older version, which does not know the newer variable, may not know its keys. */
static void whichever_variable_is_in_use_is_added_to(void **state)
{
    (void)state;
    becomes(NULL, "pinned_num_register_threads:8", NULL,
            "pinned_num_register_threads:8,backend:cudaMallocAsync");
    becomes("release_lock_on_cudamalloc:True", "", "release_lock_on_cudamalloc:True,backend:cudaMallocAsync",
            "backend:cudaMallocAsync");
}

static void stays(const char *name, const char *value)
{
    set(OLD, NULL);
    set(NEW, NULL);
    set(CACHING, NULL);
    set(name, value);
    assert_false(prepare());
    is(OLD, name == (const char *)OLD ? value : NULL);
    set(name, NULL);
}

static void what_the_user_chose_stays(void **state)
{
    (void)state;
    static const char *const chosen[] = {"backend:native",
                                         "backend:cudaMallocAsync",
                                         "expandable_segments:True",
                                         "expandable_segments:False",
                                         " backend : native",
                                         "max_split_size_mb:128",
                                         "garbage_collection_threshold:0.8",
                                         "max_non_split_rounding_mb:1",
                                         "pinned_use_background_threads:True, expandable_segments:True",
                                         "roundup_power2_divisions:[256:1,512:2]"};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        stays(OLD, chosen[i]);
        stays(NEW, chosen[i]);
    }
    stays(CACHING, "1");
}

/* What is no allocator's name says nothing about allocators. */
static void names_are_compared_whole(void **state)
{
    (void)state;
    becomes("backends:1", NULL, "backends:1,backend:cudaMallocAsync", NULL);
    becomes("x:backend", NULL, "x:backend,backend:cudaMallocAsync", NULL);
    becomes(",,", NULL, ",,,backend:cudaMallocAsync", NULL);
}

static void a_value_that_is_too_long_stays(void **state)
{
    (void)state;
    static char value[SL_FRAMEWORK_ENTRY];
    memset(value, 'x', sizeof value - sizeof OLD - sizeof "backend:cudaMallocAsync" - 1);
    set(OLD, value);
    assert_true(prepare());
    memset(value, 'x', sizeof value - sizeof OLD - sizeof "backend:cudaMallocAsync");
    stays(OLD, value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_is_too_long_stays),
        cmocka_unit_test(names_are_compared_whole),
        cmocka_unit_test(the_allocator_is_added_where_none_is_chosen),
        cmocka_unit_test(what_the_user_chose_stays),
        cmocka_unit_test(whichever_variable_is_in_use_is_added_to),
    };
    return cmocka_run_group_tests_name("framework", tests, NULL, NULL);
}
