/* How much of a core planning takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pace.h"

#define SERVED_NS 1e9
#define COSTLY_NS 100000000 /* ten times the share of that */

static struct sl_pace learned(void)
{
    struct sl_pace pace = {0};
    for (int i = 0; i < SL_PACE_FIRST_PLANS; i++) {
        assert_false(sl_pace_hurries(&pace));
        sl_pace_made(&pace, COSTLY_NS, SERVED_NS, false);
    }
    return pace;
}

static void the_first_plans_are_not_hurried(void **state)
{
    (void)state;
    learned();
}

/* Of a hundred plans, those that search are as many as the share allows. */
static void then_a_share_is_kept(void **state)
{
    (void)state;
    struct sl_pace pace = learned();
    uint64_t spent_ns = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t cpu_ns = sl_pace_hurries(&pace) ? 0 : COSTLY_NS;
        spent_ns += cpu_ns;
        sl_pace_made(&pace, cpu_ns, SERVED_NS, cpu_ns == 0);
    }
    double share = (double)spent_ns / (100 * SERVED_NS);
    assert_true(share > SL_PACE_SHARE / 2 && share <= 1.1 * SL_PACE_SHARE);
}

/* What hurried plans cost does not put the next search off. */
static void debts_are_bounded(void **state)
{
    (void)state;
    struct sl_pace pace = learned();
    int hurried = 0;
    for (int i = 0; i < 1000; i++) sl_pace_made(&pace, COSTLY_NS, SERVED_NS, false);
    while (sl_pace_hurries(&pace)) {
        sl_pace_made(&pace, COSTLY_NS, SERVED_NS, true);
        hurried++;
    }
    assert_true(hurried > 0 && hurried <= COSTLY_NS / (SL_PACE_SHARE * SERVED_NS));
}

/* What is cheap saves nothing up for later. */
static void time_that_was_not_used_is_gone(void **state)
{
    (void)state;
    struct sl_pace pace = learned();
    for (int i = 0; i < 1000; i++) sl_pace_made(&pace, 0, SERVED_NS, true);
    sl_pace_made(&pace, COSTLY_NS, SERVED_NS, false);
    assert_true(sl_pace_hurries(&pace));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_plans_are_not_hurried),
        cmocka_unit_test(then_a_share_is_kept),
        cmocka_unit_test(debts_are_bounded),
        cmocka_unit_test(time_that_was_not_used_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
