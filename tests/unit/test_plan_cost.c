/* How many copies a plan may make beyond Belady's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan_cost.h"

static const struct sl_copied least = {100, 200, 300};

static double excess(double first, double most, double all)
{
    return sl_excess_bytes((struct sl_copied){first, most, all}, least);
}

static void a_little_more_is_nothing(void **state)
{
    (void)state;
    assert_true(excess(100, 200, 300) == 0);
    assert_true(excess(50, 100, 150) == 0);
    assert_true(excess(101, 202, 303) == 0);
}

/* What is copied once brings chunks to other places; if it is copied in each period, it is too much. */
static void more_may_be_copied_once(void **state)
{
    (void)state;
    assert_true(excess(140, 240, 340) == 0);
    assert_true(excess(140, 280, 420) > 30);
    assert_true(excess(100, 240, 340) > 15); /* not at the beginning */
}

/* What a plan copied once is made up for by those behind it that copy less, or forgotten by and by. */
static void what_was_copied_once_is_remembered(void **state)
{
    (void)state;
    const struct sl_copied once = {140, 240, 340}, same = {100, 200, 300}, fewer = {70, 170, 270};
    double over = sl_over_bytes(0, once, least);
    assert_true(over > 35 && over < 40);
    assert_true(sl_over_bytes(over, fewer, least) == 0);
    double later = sl_over_bytes(over, same, least);
    assert_true(later > 0 && later < over);
    assert_true(sl_over_bytes(over, once, least) > over);
    for (int plan = 0; plan < 20; plan++) over = sl_over_bytes(over, same, least);
    assert_true(over == 0);
}

/* What a period copies too much is about what it copies more. */
static void excess_is_of_a_period(void **state)
{
    (void)state;
    double by_half = excess(150, 300, 450);
    assert_true(by_half > 45 && by_half < 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_little_more_is_nothing),
        cmocka_unit_test(more_may_be_copied_once),
        cmocka_unit_test(what_was_copied_once_is_remembered),
        cmocka_unit_test(excess_is_of_a_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
