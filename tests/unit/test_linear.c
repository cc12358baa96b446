#include "plan/linear.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define NEAR 2e-2

static void assert_near(double value, double expected)
{
    if (value < expected - NEAR || value > expected + NEAR)
        print_error("%g instead of %g\n", value, expected);
    assert_true(value >= expected - NEAR && value <= expected + NEAR);
}

static void solve(struct sl_linear *l)
{
    assert_int_equal(sl_linear_close(l), SL_OK);
    for (int i = 0; i < 400 && !sl_linear_is_solved(l); i++) sl_linear_improve(l, 250);
    assert_true(sl_linear_is_solved(l));
}

/* The known corner must be found, not some point of an edge. */
static void test_a_corner(void **state)
{
    (void)state;
    struct sl_linear *l = sl_linear_new();
    uint32_t x = sl_linear_variable(l, 100, -3), y = sl_linear_variable(l, 100, -5);
    uint32_t first = sl_linear_row(l, false, 4), second = sl_linear_row(l, false, 12),
             both = sl_linear_row(l, false, 18);
    sl_linear_term(l, first, x, 1);
    sl_linear_term(l, second, y, 2);
    sl_linear_term(l, both, x, 3);
    sl_linear_term(l, both, y, 2);
    solve(l);
    assert_near(sl_linear_value(l, x), 2);
    assert_near(sl_linear_value(l, y), 6);
    sl_linear_delete(l);
}

/* What must go from three sources to three sinks goes the cheap ways: equations, and bounds that bind. */
static void test_a_transport(void **state)
{
    (void)state;
    static const double supply[] = {4, 3, 5}, demand[] = {5, 3, 4},
                        cost[3][3] = {{1, 4, 5}, {2, 1, 6}, {7, 2, 1}};
    struct sl_linear *l = sl_linear_new();
    uint32_t from[3], to[3], way[3][3];
    for (int i = 0; i < 3; i++) {
        from[i] = sl_linear_row(l, true, supply[i]);
        to[i] = sl_linear_row(l, true, demand[i]);
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            way[i][k] = sl_linear_variable(l, 4, cost[i][k]);
            sl_linear_term(l, from[i], way[i][k], 1);
            sl_linear_term(l, to[k], way[i][k], 1);
        }
    solve(l);
    assert_near(sl_linear_value(l, way[0][0]), 4);
    assert_near(sl_linear_value(l, way[1][0]), 1);
    assert_near(sl_linear_value(l, way[1][1]), 2);
    assert_near(sl_linear_value(l, way[2][1]), 1);
    assert_near(sl_linear_value(l, way[2][2]), 4);
    sl_linear_delete(l);
}

/* A tank that is filled when it is cheap and emptied when it is needed, round a year of many months: what is
 * known about one month has to travel through all rows between. */
static void test_a_long_chain(void **state)
{
    (void)state;
    enum { MONTHS = 120 };
    struct sl_linear *l = sl_linear_new();
    uint32_t level[MONTHS], bought[MONTHS];
    for (int i = 0; i < MONTHS; i++) {
        level[i] = sl_linear_variable(l, 10, 0);
        bought[i] = sl_linear_variable(l, 10, i % 12 == 0 ? 1 : 3);
    }
    for (int i = 0; i < MONTHS; i++) {
        uint32_t row = sl_linear_row(l, true, i % 12 == 11 ? 8 : 0); /* is used */
        sl_linear_term(l, row, level[i], 1);
        sl_linear_term(l, row, bought[i], 1);
        sl_linear_term(l, row, level[(i + 1) % MONTHS], -1);
    }
    solve(l);
    double cost = 0;
    for (int i = 0; i < MONTHS; i++) cost += (i % 12 == 0 ? 1 : 3) * sl_linear_value(l, bought[i]);
    assert_near(cost / (8.0 * MONTHS / 12), 1);
    sl_linear_delete(l);
}

/* It may be asked for what it has at any time. */
static void test_values_keep_their_bounds(void **state)
{
    (void)state;
    struct sl_linear *l = sl_linear_new();
    uint32_t x = sl_linear_variable(l, 2, -1), y = sl_linear_variable(l, 3, -1);
    uint32_t row = sl_linear_row(l, false, 4);
    sl_linear_term(l, row, x, 1);
    sl_linear_term(l, row, y, 1);
    assert_int_equal(sl_linear_size(l), 2);
    assert_int_equal(sl_linear_close(l), SL_OK);
    for (int i = 0; i < 300; i++) {
        sl_linear_improve(l, 1);
        assert_true(sl_linear_value(l, x) >= 0 && sl_linear_value(l, x) <= 2 + 1e-9);
        assert_true(sl_linear_value(l, y) >= 0 && sl_linear_value(l, y) <= 3 + 1e-9);
    }
    sl_linear_delete(l);
    sl_linear_delete(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_corner),
        cmocka_unit_test(test_a_transport),
        cmocka_unit_test(test_a_long_chain),
        cmocka_unit_test(test_values_keep_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
