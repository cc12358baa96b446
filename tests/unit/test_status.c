/* What a status is called: each has a phrase of its own, and no number is without one. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/types.h"

static void statuses_have_texts(void **state)
{
    (void)state;
    for (int status = SL_OK; status <= SL_ERR_LOST; status++)
        assert_string_not_equal(sl_status_text((enum sl_status)status), "unknown status");
    assert_string_equal(sl_status_text((enum sl_status) - 1), "unknown status");
    assert_string_equal(sl_status_text((enum sl_status)99), "unknown status");
    assert_string_equal(sl_status_text((enum sl_status)(SL_ERR_LOST + 1)), "unknown status");
}

/* They stand behind a colon in messages, where nothing else distinguishes one failure from another. */
static void texts_are_short_phrases_that_differ(void **state)
{
    (void)state;
    for (int one = SL_OK; one <= SL_ERR_LOST; one++) {
        const char *text = sl_status_text((enum sl_status)one);
        assert_in_range(strlen(text), 2, 48);
        assert_false(ispunct((unsigned char)text[strlen(text) - 1]));
        for (const char *c = text; *c; c++)
            assert_false(isupper((unsigned char)*c) || iscntrl((unsigned char)*c));
        for (int other = SL_OK; other < one; other++)
            assert_string_not_equal(text, sl_status_text((enum sl_status)other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_have_texts),
        cmocka_unit_test(texts_are_short_phrases_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
