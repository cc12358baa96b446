/* Clocks of ranks: an offset and a drift are found again, whatever a few late ends say. */
#include "tools/analyses/clocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PAIRS = 200, STEP_NS = 1000000 };
#define BEGIN_NS UINT64_C(5000000000000)

static uint64_t own_ns[PAIRS], reference_ns[PAIRS];

/* Every `odd`th end, if not 0, comes 50 ms late. */
static void make(int64_t offset_ns, double drift, size_t odd)
{
    for (size_t i = 0; i < PAIRS; i++) {
        own_ns[i] = BEGIN_NS + i * STEP_NS;
        reference_ns[i] = own_ns[i] + (uint64_t)(offset_ns + (int64_t)(drift * (double)(i * STEP_NS)));
        if (odd && i % odd == 0) reference_ns[i] += 50 * STEP_NS;
    }
}

static void check(int64_t offset_ns, double drift, size_t odd)
{
    struct clock_fit fit;
    make(offset_ns, drift, odd);
    assert_true(clock_fit(own_ns, reference_ns, PAIRS, &fit));
    make(offset_ns, drift, 0);
    for (size_t i = 0; i < PAIRS; i++)
        assert_true(llabs((int64_t)(clock_on_reference(&fit, own_ns[i]) - reference_ns[i])) < 100);
    assert_true(fit.scatter_ns < 100);
}

static void offset_and_drift_are_found(void **state)
{
    (void)state;
    check(0, 0, 0);
    check(123456789, 0, 0);
    check(-123456789, 0, 0);
    check(777, 2e-5, 0);
    check(-777000, -2e-5, 0);
}

static void late_ends_do_not_count(void **state)
{
    (void)state;
    check(4711, 0, 7);
    check(-4711, 1e-5, 5);
}

static void few_pairs_tell_no_drift(void **state)
{
    (void)state;
    struct clock_fit fit = {.pairs = 7};
    make(1000, 1e-3, 0);
    assert_false(clock_fit(own_ns, reference_ns, 0, &fit));
    assert_int_equal(fit.pairs, 7);
    assert_true(clock_fit(own_ns, reference_ns, CLOCK_DRIFT_PAIRS - 1, &fit));
    assert_true(fit.drift == 0);
    assert_true(clock_fit(own_ns, reference_ns, CLOCK_DRIFT_PAIRS, &fit));
    assert_true(fit.drift > 0.9e-3 && fit.drift < 1.1e-3);
}

static void nothing_is_before_zero(void **state)
{
    (void)state;
    const struct clock_fit fit = {.offset_ns = -1000};
    assert_true(clock_on_reference(&fit, 500) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offset_and_drift_are_found),
        cmocka_unit_test(late_ends_do_not_count),
        cmocka_unit_test(few_pairs_tell_no_drift),
        cmocka_unit_test(nothing_is_before_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
