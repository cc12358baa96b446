/* Lists of events: a list that lacks one says so, and no event is dropped that is not known to have passed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory/frees.h"
#include "noted_device.h"

static struct noted_device device;
static struct sl_frees frees;
static int a, b; /* their addresses are streams */
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

static struct sl_points *record(const struct sl_free_stream *on)
{
    return sl_points_record(&frees, on, 1);
}

static void refuse_all(bool refuses)
{
    device.refuses_records = device.refuses_finishing = device.refuses_waits = device.says_nothing = refuses;
}

static void an_event_in_the_list_is_waited_for(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    sl_points_give(&frees, record(&on_a), &waits);
    sl_points_give(&frees, record(&on_b), &waits);
    assert_int_equal(waits.count, 2);
    assert_int_equal(sl_waits_enqueue(&waits, &device.backend, &b), SL_OK);
    assert_int_equal(device.wait_count, 2);
    assert_false(device.waits[0].by_host);
    assert_int_equal(sl_waits_beside(&waits, &device.backend, &b), SL_OK);
    assert_true(device.waits[2].by_host && device.waits[3].by_host);
    sl_waits_end(&waits, &frees);
    assert_false(sl_waits_any(&waits));
}

static void a_list_that_lacks_one_says_so(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    refuse_all(true);
    sl_points_give(&frees, record(&on_a), &waits);
    assert_true(waits.unsure && sl_waits_any(&waits));
    refuse_all(false);
    assert_int_equal(sl_waits_enqueue(&waits, &device.backend, &b), SL_ERR_DRIVER);
    sl_waits_end(&waits, &frees);
}

static void refused_waits_are_told(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    sl_points_give(&frees, record(&on_a), &waits);
    refuse_all(true);
    assert_int_equal(sl_waits_enqueue(&waits, &device.backend, &b), SL_ERR_DRIVER);
    assert_int_equal(sl_waits_beside(&waits, &device.backend, &b), SL_ERR_DRIVER);
    assert_int_equal(sl_wait_on_host(&waits.at[0]), SL_ERR_DRIVER);
    sl_waits_prune(&waits, &frees); /* nobody says that it has passed */
    assert_int_equal(waits.count, 1);
    refuse_all(false);
    sl_waits_prune(&waits, &frees);
    assert_int_equal(waits.count, 1);
    ((struct noted_event *)waits.at[0].event)->done = true;
    sl_waits_prune(&waits, &frees);
    assert_int_equal(waits.count, 0);
    sl_waits_end(&waits, &frees);
}

/* The event of an open point whose recording failed may have passed long ago, on another stream. */
static void an_event_that_was_not_recorded_is_not_dropped(void **state)
{
    (void)state;
    struct sl_waits waits = {0};
    sl_points_give(&frees, sl_points_open(&frees, &on_a), &waits);
    assert_true(sl_waits_are_open(&waits));
    device.refuses_records = device.refuses_finishing = true;
    sl_frees_flush(&frees);
    ((struct noted_event *)waits.at[0].event)->done = true;
    sl_waits_prune(&waits, &frees);
    assert_int_equal(waits.count, 1);
    assert_int_equal(sl_waits_enqueue(&waits, &device.backend, &b), SL_ERR_DRIVER);
    sl_waits_end(&waits, &frees);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_in_the_list_is_waited_for, start, stop),
        cmocka_unit_test_setup_teardown(a_list_that_lacks_one_says_so, start, stop),
        cmocka_unit_test_setup_teardown(refused_waits_are_told, start, stop),
        cmocka_unit_test_setup_teardown(an_event_that_was_not_recorded_is_not_dropped, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
