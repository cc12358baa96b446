/* Kept texts: one copy of each, by whichever thread, within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/keep.h"

#define THREADS 8
#define TEXTS 500

static void equal_texts_are_one_and_differ_from_others(void **state)
{
    (void)state;
    char text[] = "forward";
    const char *kept = sl_text_keep(text);
    assert_ptr_not_equal(kept, text);
    strcpy(text, "gone");
    assert_string_equal(kept, "forward");
    assert_ptr_equal(sl_text_keep("forward"), kept);
    assert_ptr_not_equal(sl_text_keep("forwar"), kept);
    assert_ptr_not_equal(sl_text_keep("forwards"), kept);
    assert_string_equal(sl_text_keep(""), "");
    assert_null(sl_text_keep(NULL));
}

static void a_long_text_is_cut(void **state)
{
    (void)state;
    char text[SL_KEEP_LONGEST + 2];
    memset(text, 'x', sizeof text);
    text[SL_KEEP_LONGEST + 1] = 0;
    const char *kept = sl_text_keep(text);
    assert_int_equal(strlen(kept), SL_KEEP_LONGEST);
    text[SL_KEEP_LONGEST] = 0;
    assert_ptr_equal(sl_text_keep(text), kept);
}

static void *keep_all(void *out)
{
    const char **kept = out;
    for (int i = 0; i < TEXTS; i++) {
        char text[32];
        snprintf(text, sizeof text, "text of threads %d", i);
        kept[i] = sl_text_keep(text);
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
        kept += strcmp(sl_text_keep_some(text), SL_KEEP_LOST) != 0;
    }
    assert_in_range(kept, 1 << 14, 1 << 15);
    assert_string_equal(sl_text_keep_some("one more iteration"), SL_KEEP_LOST);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "kernel %d", i);
        assert_string_equal(sl_text_keep(text), text);
    }
    assert_string_equal(sl_text_keep_some("kernel 5"), "kernel 5");
}

static void what_is_not_kept_is_told_apart(void **state)
{
    (void)state;
    char text[] = "forward";
    const char *kept = sl_text_keep(text);
    assert_true(sl_text_is_kept(kept));
    assert_true(sl_text_is_kept(kept + strlen(kept)));
    assert_false(sl_text_is_kept(text));
    assert_false(sl_text_is_kept(NULL));
    assert_false(sl_text_is_kept((const void *)1));
}

/* A program that names every step of a long run differently. Last: it uses the space up. */
static void beyond_the_bound_there_is_one_text(void **state)
{
    (void)state;
    const char *first = sl_text_keep("first");
    uint64_t kept = 0;
    char text[32];
    for (int i = 0; i < 1 << 18; i++) {
        snprintf(text, sizeof text, "step %d", i);
        const char *copy = sl_text_keep(text);
        if (!strcmp(copy, SL_KEEP_LOST)) continue;
        assert_string_equal(copy, text);
        kept++;
    }
    assert_in_range(kept, 1 << 14, 1 << 16);
    assert_string_equal(sl_text_keep("one more"), SL_KEEP_LOST);
    assert_true(sl_text_is_kept(sl_text_keep("one more")));
    assert_ptr_equal(sl_text_keep("first"), first);
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
