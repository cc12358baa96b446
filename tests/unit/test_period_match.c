/* A period is found again in repetitions of it: breaks if a symbol too many, too few or unknown misleads for
 * longer than it must. */
#include "core/relayout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SYMBOLS = 6, LENGTH = 8 };
/* 0 comes three times, 5 never. */
static const sl_symbol period[LENGTH] = {1, 0, 2, 0, 3, 0, 4, 4};

static struct sl_period_match begun(void)
{
    struct sl_period_match match;
    assert_true(sl_period_match_init(&match, period, LENGTH, SYMBOLS));
    sl_period_match_begin(&match);
    return match;
}

static void repetitions_are_found_place_by_place(void **state)
{
    (void)state;
    struct sl_period_match match = begun();
    for (int round = 0; round < 3; round++)
        for (uint32_t at = 0; at < LENGTH; at++)
            assert_int_equal(sl_period_match_next(&match, period[at]), at);
    sl_period_match_close(&match);
}

static void after_a_difference_it_goes_on(void **state)
{
    (void)state;
    struct sl_period_match match = begun();
    static const struct {
        sl_symbol symbol;
        uint32_t place;
    } steps[] = {
        {1, 0},        {0, 1}, {5, SL_NONE}, {2, 2}, {0, 3},         /* one that the period does not have */
        {0, 5},        {4, 6}, {4, 7},                               /* one that is missing */
        {1, 0},        {0, 1}, {0, 3},       {2, 2}, {0, 3}, {3, 4}, /* one too many */
        {3, 4},        {0, 5}, {4, 6},       {1, 0},                 /* twice; the last is missing */
        {99, SL_NONE}, {4, 6}, {2, 2},       {0, 3},                 /* a jump back */
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        assert_int_equal(sl_period_match_next(&match, steps[i].symbol), steps[i].place);
    sl_period_match_begin(&match);
    assert_int_equal(sl_period_match_next(&match, 0), 1);
    sl_period_match_close(&match);
}

static void no_period_has_no_places(void **state)
{
    (void)state;
    struct sl_period_match match;
    assert_true(sl_period_match_init(&match, period, 0, SYMBOLS));
    assert_int_equal(sl_period_match_next(&match, 0), SL_NONE);
    sl_period_match_close(&match);
    sl_period_match_close(&match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repetitions_are_found_place_by_place),
        cmocka_unit_test(after_a_difference_it_goes_on),
        cmocka_unit_test(no_period_has_no_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
