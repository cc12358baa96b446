/* Up to which launch all have ended: breaks if a launch that the driver does not have yet counts as
 * submitted, or if one that was submitted holds up what waits for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/ticks.h"

static void begin(struct sl_ticks *ticks, sl_tick tick)
{
    ticks->now = tick;
    atomic_store(&ticks->open[tick % SL_OPEN_LAUNCHES], tick);
}

static void end(struct sl_ticks *ticks, sl_tick tick)
{
    atomic_store(&ticks->open[tick % SL_OPEN_LAUNCHES], 0);
}

static void without_open_launches_it_is_the_newest(void **state)
{
    (void)state;
    struct sl_ticks ticks = {0};
    assert_int_equal(sl_ticks_submitted(&ticks), 0);
    ticks.now = 1;
    assert_int_equal(sl_ticks_submitted(&ticks), 1);
    ticks.now = UINT64_C(1) << 40;
    assert_int_equal(sl_ticks_submitted(&ticks), UINT64_C(1) << 40);
}

static void the_first_launch_waits_for_nothing(void **state)
{
    (void)state;
    struct sl_ticks ticks = {0};
    begin(&ticks, 1);
    assert_int_equal(sl_ticks_submitted(&ticks), 0);
    end(&ticks, 1);
    assert_int_equal(sl_ticks_submitted(&ticks), 1);
}

/* Threads end their launches in any order. */
static void the_oldest_that_is_open_counts(void **state)
{
    (void)state;
    struct sl_ticks ticks = {0};
    for (sl_tick tick = 1; tick <= 7; tick++) begin(&ticks, tick);
    for (sl_tick tick = 1; tick <= 2; tick++) end(&ticks, tick);
    assert_int_equal(sl_ticks_submitted(&ticks), 2);
    end(&ticks, 7);
    end(&ticks, 4);
    assert_int_equal(sl_ticks_submitted(&ticks), 2);
    end(&ticks, 3);
    assert_int_equal(sl_ticks_submitted(&ticks), 4);
    end(&ticks, 6);
    end(&ticks, 5);
    assert_int_equal(sl_ticks_submitted(&ticks), 7);
}

static void every_place_counts(void **state)
{
    (void)state;
    for (sl_tick tick = 1000; tick < 1000 + SL_OPEN_LAUNCHES; tick++) {
        struct sl_ticks ticks = {0};
        begin(&ticks, tick);
        ticks.now += 3;
        assert_int_equal(sl_ticks_submitted(&ticks), tick - 1);
    }
}

static void as_many_as_there_are_places(void **state)
{
    (void)state;
    struct sl_ticks ticks = {0};
    sl_tick first = 100, last = first + SL_OPEN_LAUNCHES - 1;
    for (sl_tick tick = first; tick <= last; tick++) begin(&ticks, tick);
    for (sl_tick tick = last; tick >= first; tick--) {
        assert_int_equal(sl_ticks_submitted(&ticks), first - 1);
        end(&ticks, tick);
    }
    assert_int_equal(sl_ticks_submitted(&ticks), last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_open_launches_it_is_the_newest),
        cmocka_unit_test(the_first_launch_waits_for_nothing),
        cmocka_unit_test(the_oldest_that_is_open_counts),
        cmocka_unit_test(every_place_counts),
        cmocka_unit_test(as_many_as_there_are_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
