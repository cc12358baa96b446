/* How fast the link is said to be, alone and with both directions at work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "move/link_speed.h"

#define MS UINT64_C(1000000)
#define ASSUMED 123u

/* `count` movements of `bytes` each, one after the other from `begin_ns` on. */
static void run(struct sl_link_lane *lane, int count, uint64_t begin_ns, uint64_t each_ns, uint64_t bytes)
{
    for (int i = 0; i < count; i++)
        sl_link_note(lane, begin_ns + (uint64_t)i * each_ns, begin_ns + (uint64_t)(i + 1) * each_ns, bytes);
}

static void assert_speeds(const struct sl_link *link, uint64_t in, uint64_t out)
{
    uint64_t in_said = ASSUMED, out_said = ASSUMED;
    sl_link_speeds(link, &in_said, &out_said);
    assert_in_range(in_said, in - in / 1000, in + in / 1000);
    assert_in_range(out_said, out - out / 1000, out + out / 1000);
}

static void a_few_movements_say_nothing(void **state)
{
    (void)state;
    struct sl_link link = {0};
    run(&link.in, SL_LINK_LEAST - 1, 0, MS, 24000000);
    assert_speeds(&link, ASSUMED, ASSUMED);
}

static void one_direction_alone_is_faster_than_what_is_said(void **state)
{
    (void)state;
    struct sl_link link = {0};
    run(&link.in, SL_LINK_LEAST, 0, MS, 24000000);
    assert_speeds(&link, 22080000000, 22080000000);
}

static void what_ran_beside_the_other_direction_is_said_as_it_is(void **state)
{
    (void)state;
    struct sl_link link = {0};
    run(&link.in, SL_LINK_SPANS, 0, MS, 22080000);
    run(&link.out, SL_LINK_SPANS, 0, MS, 11040000);
    assert_speeds(&link, 22080000000, 11040000000);
}

static void a_part_that_was_shared_counts_as_far_as_it_was(void **state)
{
    (void)state;
    struct sl_link link = {0};
    /* Half of each millisecond the link carries 24 bytes a nanosecond, in the other half 22.08. */
    run(&link.in, SL_LINK_SPANS, 0, MS, 23040000);
    for (uint64_t i = 0; i < SL_LINK_SPANS; i++) sl_link_note(&link.out, i * MS, i * MS + MS / 2, 11040000);
    assert_speeds(&link, 22080000000, 22080000000);
}

static void outliers_weigh_nothing(void **state)
{
    (void)state;
    struct sl_link link = {0};
    run(&link.out, 12, 0, MS, 24000000);
    run(&link.out, 4, 100 * MS, 50 * MS, 24000000);
    run(&link.out, 4, 1000 * MS, MS / 100, 24000000);
    sl_link_note(&link.out, 5, 5, 1);
    sl_link_note(&link.out, 5, 4, 1);
    assert_speeds(&link, 22080000000, 22080000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_movements_say_nothing),
        cmocka_unit_test(one_direction_alone_is_faster_than_what_is_said),
        cmocka_unit_test(what_ran_beside_the_other_direction_is_said_as_it_is),
        cmocka_unit_test(a_part_that_was_shared_counts_as_far_as_it_was),
        cmocka_unit_test(outliers_weigh_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
