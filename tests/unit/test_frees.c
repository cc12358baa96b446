/* Who waits for what when memory was freed and is given out again: breaks if an owner would use memory before
 * the work of the last one is done, or wait for work that has nothing to do with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory/frees.h"
#include "noted_device.h"

enum { KIB = 1024 };

static struct noted_device device;
static struct sl_frees frees;
static int a, b, c; /* their addresses are streams */
static const struct sl_free_stream on_a = {&a, 1}, on_b = {&b, 2};

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    return sl_frees_init(&frees, &device.backend) == SL_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_frees_close(&frees, false);
    return device.deleted == device.made ? 0 : -1; /* none is lost */
}

static void freed(uint64_t begin, uint64_t end, struct sl_free_stream stream)
{
    sl_frees_add(&frees, begin * KIB, end * KIB, sl_points_record(&frees, &stream, 1));
}

/* On which streams the events lie that the owner of the memory waits for, as bits: 1 a, 2 b. */
static int waits_of(uint64_t begin, uint64_t end, uint64_t serial)
{
    struct sl_waits waits = {0};
    int streams = 0;
    device.wait_count = 0;
    sl_frees_take(&frees, begin * KIB, end * KIB, serial, &waits);
    sl_waits_enqueue(&waits, &device.backend, &c);
    for (uint32_t i = 0; i < device.wait_count; i++) streams |= device.waits[i].event->stream == &a ? 1 : 2;
    sl_waits_end(&waits, &frees);
    return streams;
}

static void the_same_stream_does_not_wait(void **state)
{
    (void)state;
    freed(0, 4, on_a);
    assert_int_equal(waits_of(0, 4, on_a.serial), 0);
    freed(0, 4, on_a);
    assert_int_equal(waits_of(0, 4, on_b.serial), 1);
    assert_int_equal(waits_of(0, 4, on_b.serial), 0); /* it has an owner */
}

static void nobody_waits_for_other_memory(void **state)
{
    (void)state;
    freed(0, 4, on_a);
    freed(8, 12, on_b);
    assert_int_equal(waits_of(4, 8, 3), 0);
    assert_int_equal(waits_of(3, 8, 3), 1);
    assert_int_equal(waits_of(2, 9, 3), 3);
    assert_int_equal(waits_of(0, 2, 3), 1);
    assert_int_equal(waits_of(9, 12, 3), 2);
    assert_int_equal(waits_of(0, 12, 3), 0);
}

static void the_middle_of_a_range_is_taken(void **state)
{
    (void)state;
    freed(0, 64, on_a);
    for (uint64_t i = 1; i < 64; i += 2) assert_int_equal(waits_of(i, i + 1, 3), 1);
    for (uint64_t i = 0; i < 64; i += 2) assert_int_equal(waits_of(i, i + 1, 3), 1);
    assert_int_equal(waits_of(0, 64, 3), 0);
}

static void a_stream_nobody_knows_is_waited_for_by_all(void **state)
{
    (void)state;
    freed(0, 4, (struct sl_free_stream){&a, 0});
    assert_int_equal(waits_of(0, 4, 0), 1);
}

/* The host has waited for what was freed before it began to, and for nothing later. */
static void what_the_host_waited_for_is_over(void **state)
{
    (void)state;
    freed(0, 4, on_a);
    uint64_t now = sl_frees_now(&frees);
    freed(4, 8, on_b);
    sl_frees_pass(&frees, now);
    assert_int_equal(waits_of(0, 8, 3), 2);
}

static void a_later_point_stands_for_an_earlier_one(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 8; i++) freed(i, i + 1, on_a);
    assert_int_equal(waits_of(0, 8, 3), 1);
    assert_int_equal(device.wait_count, 1);
    assert_int_equal(device.waits[0].event->recorded, device.records);
}

/* Two threads free on one stream: whose event lies behind the other's is not known, so both count. */
static void points_recorded_side_by_side_both_count(void **state)
{
    (void)state;
    struct sl_points *first = sl_points_record(&frees, &on_a, 1),
                     *second = sl_points_record(&frees, &on_a, 1);
    sl_frees_add(&frees, 0, KIB, second);
    sl_frees_add(&frees, KIB, 2 * KIB, first);
    assert_int_equal(waits_of(0, 2, 3), 1);
    assert_int_equal(device.wait_count, 2);
}

/* An event serves again, but not while somebody is about to wait for it. */
static void events_are_not_recorded_under_a_wait(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    freed(0, 4, on_a);
    sl_frees_take(&frees, 0, 4 * KIB, 3, &waits);
    assert_int_equal(waits.count, 1);
    uint64_t recorded = noted_event(waits.at[0].event)->recorded;
    for (uint64_t i = 0; i < 16; i++) {
        freed(8, 12, on_b);
        waits_of(8, 12, 3);
    }
    assert_int_equal(noted_event(waits.at[0].event)->recorded, recorded);
    sl_waits_end(&waits, &frees);
    assert_true(device.made <= 3);
}

static void a_discard_waits_and_takes_nothing(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    freed(0, 4, on_a);
    sl_frees_peek(&frees, 0, 4 * KIB, &waits);
    assert_int_equal(waits.count, 1);
    sl_waits_end(&waits, &frees);
    assert_true(sl_frees_any(&frees, 0, 4 * KIB, on_b.serial));
    assert_false(sl_frees_any(&frees, 0, 4 * KIB, on_a.serial));
    assert_int_equal(waits_of(0, 4, on_b.serial), 1);
}

static void freed_later(uint64_t begin, uint64_t end, struct sl_free_stream stream)
{
    sl_frees_add(&frees, begin * KIB, end * KIB, sl_points_open(&frees, &stream));
}

/* Frees in a row, as of an optimizer's gradients, record one event and not one each. */
static void frees_in_a_row_have_one_point(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 8; i++) freed_later(i, i + 1, on_a);
    assert_int_equal(device.records, 0);
    assert_true(sl_frees_are_open(&frees, 7 * KIB, 8 * KIB));
    sl_frees_flush(&frees);
    assert_int_equal(device.records, 1);
    assert_false(sl_frees_are_open(&frees, 0, 8 * KIB));
    freed_later(8, 9, on_a); /* behind what the stream was given since */
    assert_true(sl_frees_are_open(&frees, 8 * KIB, 9 * KIB));
    assert_false(sl_frees_are_open(&frees, 0, 8 * KIB));
    assert_int_equal(waits_of(0, 8, 3), 1);
    assert_int_equal(device.wait_count, 1);
    assert_int_equal(device.records, 1);
    sl_frees_flush(&frees);
    assert_int_equal(device.records, 2);
    assert_int_equal(waits_of(8, 9, 3), 1);
    assert_int_equal(device.waits[0].event->recorded, device.records);
}

/* Nobody waits for an event that was never recorded: that would be no wait. */
static void who_waits_for_an_open_point_records_it(void **state)
{
    (void)state;
    freed_later(0, 4, on_a);
    assert_int_equal(waits_of(0, 2, 3), 1);
    assert_int_equal(device.records, 1);
    assert_int_equal(device.waits[0].event->recorded, device.records);
    freed_later(4, 8, on_a); /* the other one is not open any more */
    assert_int_equal(waits_of(2, 4, 3), 1);
    assert_int_equal(device.records, 1);
    assert_int_equal(waits_of(4, 8, 3), 1);
    assert_int_equal(device.records, 2);
}

static void a_point_that_nobody_needs_is_not_recorded(void **state)
{
    (void)state;
    freed_later(0, 4, on_a);
    assert_int_equal(waits_of(0, 4, on_a.serial), 0);
    sl_frees_flush(&frees);
    freed_later(0, 4, on_a);
    sl_frees_pass(&frees, sl_frees_now(&frees)); /* the host has waited */
    sl_frees_flush(&frees);
    assert_int_equal(device.records, 0);
}

static void a_stream_that_goes_has_no_open_point(void **state)
{
    (void)state;
    freed_later(0, 4, on_a);
    sl_frees_flush_stream(&frees, &b);
    assert_int_equal(device.records, 0);
    sl_frees_flush_stream(&frees, &a);
    assert_int_equal(device.records, 1);
}

static void one_stream_has_an_open_point(void **state)
{
    (void)state;
    freed_later(0, 1, on_a);
    freed_later(1, 2, on_b);
    assert_int_equal(device.records, 1);
    assert_false(sl_frees_are_open(&frees, 0, KIB));
    freed_later(2, 3, (struct sl_free_stream){&a, 0}); /* nobody knows which one that is */
    freed_later(3, 4, (struct sl_free_stream){&a, 0});
    assert_int_equal(device.records, 4);
    assert_int_equal(waits_of(0, 2, 3), 3);
    assert_int_equal(device.records, 4);
}

/* What was never recorded has not passed, whatever the driver says of its event. */
static void an_open_point_has_not_passed(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    freed_later(0, 4, on_a);
    sl_frees_take(&frees, 0, 4 * KIB, 3, &waits);
    assert_true(sl_waits_are_open(&waits));
    sl_waits_prune(&waits, &frees);
    assert_int_equal(waits.count, 1);
    sl_waits_enqueue(&waits, &device.backend, &c);
    assert_false(sl_waits_are_open(&waits));
    sl_waits_end(&waits, &frees);
}

/* Until later points on all streams take their place. */
static void what_is_unsure_is_kept_until_it_is_mended(void **state)
{
    (void)state;
    device.refuses_records = device.refuses_finishing = true;
    freed(0, 4, on_a);
    device.refuses_records = device.refuses_finishing = false;
    freed(4, 8, on_b);
    struct sl_waits waits = {0};
    assert_true(sl_frees_any_unsure(&frees));
    sl_frees_peek(&frees, 0, 4 * KIB, &waits);
    assert_true(waits.unsure);
    assert_true(sl_frees_any(&frees, 0, KIB, on_a.serial)); /* even the stream that freed it cannot know */
    sl_waits_end(&waits, &frees);
    sl_frees_mend(&frees, sl_frees_now(&frees), sl_points_record(&frees, &on_b, 1));
    assert_false(sl_frees_any_unsure(&frees));
    assert_int_equal(waits_of(0, 4, on_a.serial), 2);
    assert_int_equal(waits_of(4, 8, on_a.serial), 2);
}

static void what_is_freed_later_is_not_mended(void **state)
{
    (void)state;
    uint64_t before = sl_frees_now(&frees);
    sl_frees_add(&frees, 0, 4 * KIB, sl_points_unknown(&frees));
    sl_frees_mend(&frees, before, NULL);
    assert_true(sl_frees_any_unsure(&frees));
    sl_frees_mend(&frees, sl_frees_now(&frees), NULL); /* all work is done */
    assert_false(sl_frees_any_unsure(&frees));
    assert_int_equal(waits_of(0, 4, 0), 0);
}

static void a_wait_for_the_context_ends_doubt(void **state)
{
    (void)state;
    sl_frees_add(&frees, 0, 4 * KIB, sl_points_unknown(&frees));
    sl_frees_pass(&frees, sl_frees_now(&frees));
    assert_false(sl_frees_any_unsure(&frees));
    assert_int_equal(waits_of(0, 4, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_stream_does_not_wait, start, stop),
        cmocka_unit_test_setup_teardown(nobody_waits_for_other_memory, start, stop),
        cmocka_unit_test_setup_teardown(the_middle_of_a_range_is_taken, start, stop),
        cmocka_unit_test_setup_teardown(a_stream_nobody_knows_is_waited_for_by_all, start, stop),
        cmocka_unit_test_setup_teardown(what_the_host_waited_for_is_over, start, stop),
        cmocka_unit_test_setup_teardown(a_later_point_stands_for_an_earlier_one, start, stop),
        cmocka_unit_test_setup_teardown(points_recorded_side_by_side_both_count, start, stop),
        cmocka_unit_test_setup_teardown(events_are_not_recorded_under_a_wait, start, stop),
        cmocka_unit_test_setup_teardown(a_discard_waits_and_takes_nothing, start, stop),
        cmocka_unit_test_setup_teardown(frees_in_a_row_have_one_point, start, stop),
        cmocka_unit_test_setup_teardown(who_waits_for_an_open_point_records_it, start, stop),
        cmocka_unit_test_setup_teardown(a_point_that_nobody_needs_is_not_recorded, start, stop),
        cmocka_unit_test_setup_teardown(one_stream_has_an_open_point, start, stop),
        cmocka_unit_test_setup_teardown(a_stream_that_goes_has_no_open_point, start, stop),
        cmocka_unit_test_setup_teardown(an_open_point_has_not_passed, start, stop),
        cmocka_unit_test_setup_teardown(what_is_unsure_is_kept_until_it_is_mended, start, stop),
        cmocka_unit_test_setup_teardown(what_is_freed_later_is_not_mended, start, stop),
        cmocka_unit_test_setup_teardown(a_wait_for_the_context_ends_doubt, start, stop),
    };
    return cmocka_run_group_tests_name("frees", tests, NULL, NULL);
}
