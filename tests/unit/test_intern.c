/* Kept texts: one copy of each, by whichever thread, within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "trace/events.h"

#define THREADS 8
#define TEXTS 500

static void equal_texts_are_one_and_differ_from_others(void **state)
{
    (void)state;
    char text[] = "forward";
    const char *kept = sl_intern(text);
    assert_ptr_not_equal(kept, text);
    strcpy(text, "gone");
    assert_string_equal(kept, "forward");
    assert_ptr_equal(sl_intern("forward"), kept);
    assert_ptr_not_equal(sl_intern("forwar"), kept);
    assert_ptr_not_equal(sl_intern("forwards"), kept);
    assert_string_equal(sl_intern(""), "");
    assert_null(sl_intern(NULL));
}

static void a_long_text_is_cut(void **state)
{
    (void)state;
    char text[SL_INTERN_LONGEST + 2];
    memset(text, 'x', sizeof text);
    text[SL_INTERN_LONGEST + 1] = 0;
    const char *kept = sl_intern(text);
    assert_int_equal(strlen(kept), SL_INTERN_LONGEST);
    text[SL_INTERN_LONGEST] = 0;
    assert_ptr_equal(sl_intern(text), kept);
}

static void *keep_all(void *out)
{
    const char **kept = out;
    for (int i = 0; i < TEXTS; i++) {
        char text[32];
        snprintf(text, sizeof text, "text of threads %d", i);
        kept[i] = sl_intern(text);
    }
    return NULL;
}

static void threads_get_the_same_copies(void **state)
{
    (void)state;
    static const char *kept[THREADS][TEXTS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, keep_all, kept[t]), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int i = 0; i < TEXTS; i++) {
        char text[32];
        snprintf(text, sizeof text, "text of threads %d", i);
        for (int t = 0; t < THREADS; t++) {
            assert_string_equal(kept[t][i], text);
            assert_ptr_equal(kept[t][i], kept[0][i]);
        }
    }
}

/* Names of marks must not leave kernels without theirs. */
static void texts_without_number_leave_room(void **state)
{
    (void)state;
    char text[32];
    uint64_t kept = 0;
    for (int i = 0; i < 1 << 17; i++) {
        snprintf(text, sizeof text, "iteration %d", i);
        kept += strcmp(sl_intern_some(text), SL_INTERN_LOST) != 0;
    }
    assert_in_range(kept, 1 << 14, 1 << 15);
    assert_string_equal(sl_intern_some("one more iteration"), SL_INTERN_LOST);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "kernel %d", i);
        assert_string_equal(sl_intern(text), text);
    }
    assert_string_equal(sl_intern_some("kernel 5"), "kernel 5");
}

static void what_is_not_kept_is_told_apart(void **state)
{
    (void)state;
    char text[] = "forward";
    const char *kept = sl_intern(text);
    assert_true(sl_is_interned(kept));
    assert_true(sl_is_interned(kept + strlen(kept)));
    assert_false(sl_is_interned(text));
    assert_false(sl_is_interned(NULL));
    assert_false(sl_is_interned((const void *)1));
}

/* A program that names every step of a long run differently. Last: it uses the space up. */
static void beyond_the_bound_there_is_one_text(void **state)
{
    (void)state;
    const char *first = sl_intern("first");
    uint64_t kept = 0;
    char text[32];
    for (int i = 0; i < 1 << 18; i++) {
        snprintf(text, sizeof text, "step %d", i);
        const char *copy = sl_intern(text);
        if (!strcmp(copy, SL_INTERN_LOST)) continue;
        assert_string_equal(copy, text);
        kept++;
    }
    assert_in_range(kept, 1 << 14, 1 << 16);
    assert_string_equal(sl_intern("one more"), SL_INTERN_LOST);
    assert_true(sl_is_interned(sl_intern("one more")));
    assert_ptr_equal(sl_intern("first"), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_are_one_and_differ_from_others),
        cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(threads_get_the_same_copies),
        cmocka_unit_test(what_is_not_kept_is_told_apart),
        cmocka_unit_test(texts_without_number_leave_room),
        cmocka_unit_test(beyond_the_bound_there_is_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
