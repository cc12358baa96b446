/* Decisions in words: those that a trace has, whose numbers may be any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/events.h"

/* The texts of the numbers from 0 to `last` differ, and all behind are none. */
static void assert_distinct(const char *(*text)(unsigned decision, unsigned number), unsigned decision,
                            unsigned last)
{
    for (unsigned one = 0; one <= last; one++) {
        assert_non_null(text(decision, one));
        assert_string_not_equal(text(decision, one), "?");
        for (unsigned other = 0; other < one; other++)
            assert_string_not_equal(text(decision, one), text(decision, other));
    }
    const unsigned none[] = {last + 1, last + 2, 255, INT32_MAX, (unsigned)INT32_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_string_equal(text(decision, none[i]), "?");
}

static const char *text_of(unsigned unused, unsigned decision)
{
    (void)unused;
    return sl_decision_text(decision);
}

static void decisions_have_texts_of_their_own(void **state)
{
    (void)state;
    assert_distinct(text_of, 0, SL_DECISION_VICTIMS);
}

static void reasons_have_texts_of_their_own(void **state)
{
    (void)state;
    assert_distinct(sl_decision_reason_text, SL_DECISION_BEGIN, SL_BEGIN_PROFILE);
    assert_distinct(sl_decision_reason_text, SL_DECISION_DISCARD, SL_CANCEL_CHECK);
    assert_distinct(sl_decision_reason_text, SL_DECISION_MISPREDICT, SL_DIFFERS_ORDER);
}

/* The record's id is something else there, or nothing: a text would be a wrong one. */
static void other_decisions_have_no_reason(void **state)
{
    (void)state;
    const unsigned others[] = {SL_DECISION_SWITCH, SL_DECISION_VICTIMS, SL_DECISION_VICTIMS + 1, 255,
                               UINT32_MAX};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        for (unsigned reason = 0; reason < 10; reason++)
            assert_null(sl_decision_reason_text(others[i], reason));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_have_texts_of_their_own),
        cmocka_unit_test(reasons_have_texts_of_their_own),
        cmocka_unit_test(other_decisions_have_no_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
