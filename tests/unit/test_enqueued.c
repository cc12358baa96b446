/* What is known of movements that were issued in order: breaks if one is taken for done that is not, or if
 * who waits for one waits for an event that was recorded in front of it. */
#include "move/enqueued.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "noted_device.h"

static struct noted_device device;
static struct sl_enqueued direction;

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    direction = (struct sl_enqueued){0};
    return sl_enqueued_init(&direction, &device.backend, &device.out) == SL_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_enqueued_close(&direction, &device.backend);
    return device.deleted == device.made ? 0 : -1;
}

static uint64_t submit(bool ask)
{
    enum sl_status status = SL_OK;
    uint64_t sequence = sl_enqueued_submitted(&direction, &device.backend, ask, &status);
    assert_int_equal(status, SL_OK);
    return sequence;
}

static struct noted_event *event_of(uint64_t sequence)
{
    return sl_enqueued_event(&direction, sequence);
}

static bool is_done(uint64_t sequence)
{
    return sl_enqueued_ask_done(&direction, &device.backend, sequence);
}

static void all_before_a_movement_that_is_done_are(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= 10; s++) assert_int_equal(submit(true), s);
    event_of(7)->done = true;
    assert_false(is_done(3)); /* its own event does not say so */
    assert_true(is_done(7));
    uint64_t asked = device.questions;
    for (uint64_t s = 1; s <= 7; s++) assert_true(is_done(s));
    assert_int_equal(device.questions, asked);
    assert_false(is_done(8));
    assert_int_equal(device.questions, asked + 1);
    assert_true(sl_enqueued_known_done(&direction, 7));
    assert_false(sl_enqueued_known_done(&direction, 8));
}

static void what_was_not_issued_is_not_done(void **state)
{
    (void)state;
    assert_true(is_done(0));
    event_of(submit(true))->done = true;
    assert_false(is_done(2));
    assert_int_equal(device.questions, 0);
}

/* What is learned late, by a thread that waited for an older movement, does not undo what is known. */
static void what_is_known_to_be_done_stays_so(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) submit(true);
    sl_enqueued_set_done(&direction, 4);
    sl_enqueued_set_done(&direction, 2);
    assert_true(sl_enqueued_known_done(&direction, 4));
    assert_false(sl_enqueued_known_done(&direction, 5));
}

/* While nothing is done every movement has the event that was recorded behind it. */
static void each_movement_under_way_has_its_own_event(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= 3 * SL_EVENTS_LEAST; s++) {
        submit(true);
        assert_int_equal(event_of(s)->recorded, s);
        assert_ptr_equal(event_of(s)->stream, &device.out);
    }
    for (uint64_t s = 1; s <= 3 * SL_EVENTS_LEAST; s++) {
        assert_int_equal(event_of(s)->recorded, s);
        assert_true(sl_enqueued_has_event(&direction, s));
    }
    assert_int_equal(device.made, 3 * SL_EVENTS_LEAST);
}

static void events_serve_again_when_their_movements_are_done(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= 10 * SL_EVENTS_LEAST; s++) event_of(submit(true))->done = true;
    assert_int_equal(device.made, SL_EVENTS_LEAST);
    assert_int_equal(event_of(10 * SL_EVENTS_LEAST)->recorded, 10 * SL_EVENTS_LEAST);
    assert_false(sl_enqueued_has_event(&direction, 9 * SL_EVENTS_LEAST));
}

/* While a stream captures the driver must not be asked. */
static void without_asking_nothing_is_taken_for_done(void **state)
{
    (void)state;
    for (uint64_t s = 1; s <= 2 * SL_EVENTS_LEAST; s++) event_of(submit(false))->done = true;
    assert_int_equal(device.questions, 0);
    assert_int_equal(device.made, 2 * SL_EVENTS_LEAST);
    sl_enqueued_set_done(&direction, 2 * SL_EVENTS_LEAST);
    for (uint64_t s = 1; s <= SL_EVENTS_LEAST; s++) submit(false);
    assert_int_equal(device.made, 2 * SL_EVENTS_LEAST);
}

/* Whoever waits for a movement whose event serves another waits for a later one, never for an earlier. */
static void check_oldest_serves(uint64_t most)
{
    for (uint64_t s = 1; s <= most + 10; s++) submit(true);
    assert_int_equal(direction.event_count, most);
    for (uint64_t s = 1; s <= 10; s++) {
        assert_false(sl_enqueued_has_event(&direction, s));
        assert_true(event_of(s)->recorded >= 11);
    }
    for (uint64_t s = 11; s <= most + 10; s++) {
        assert_true(sl_enqueued_has_event(&direction, s));
        assert_int_equal(event_of(s)->recorded, s);
    }
}

static void where_there_are_too_many_the_oldest_serves(void **state)
{
    (void)state;
    check_oldest_serves(SL_EVENTS_MOST);
}

static void where_the_driver_gives_no_more_the_oldest_serves(void **state)
{
    (void)state;
    device.events_left = 5;
    check_oldest_serves(SL_EVENTS_LEAST + 5);
}

/* What the driver refuses to record is waited for on the host, and the movement has its number. */
static void an_event_that_cannot_be_recorded(void **state)
{
    (void)state;
    enum sl_status status = SL_OK;
    device.refuses_records = true;
    assert_int_equal(sl_enqueued_submitted(&direction, &device.backend, true, &status), 1);
    assert_int_equal(status, SL_OK);
    assert_ptr_equal(device.finished, &device.out);
    device.refuses_records = false;
    status = SL_ERR_UNSUPPORTED; /* of the movement itself */
    assert_int_equal(sl_enqueued_submitted(&direction, &device.backend, true, &status), 2);
    assert_int_equal(status, SL_ERR_UNSUPPORTED);
}

/* Its event may have passed long ago. */
static void what_is_neither_recorded_nor_waited_for_is_ahead(void **state)
{
    (void)state;
    enum sl_status status = SL_OK;
    sl_stream other = &device.in;
    uint64_t first = sl_enqueued_submitted(&direction, &device.backend, true, &status);
    device.refuses_records = device.refuses_finishing = true;
    uint64_t lost = sl_enqueued_submitted(&direction, &device.backend, true, &status);
    assert_int_equal(status, SL_ERR_DRIVER);
    ((struct noted_event *)sl_enqueued_event(&direction, lost))->done = true;
    assert_false(sl_enqueued_ask_done(&direction, &device.backend, lost));
    assert_int_equal(sl_enqueued_wait(&direction, &device.backend, lost, &other), SL_ERR_DRIVER);
    assert_int_equal(sl_enqueued_wait(&direction, &device.backend, first, &other), SL_OK);
    device.refuses_finishing = false;
    assert_int_equal(sl_enqueued_wait(&direction, &device.backend, lost, &other), SL_OK);
    assert_true(sl_enqueued_ask_done(&direction, &device.backend, lost));
}

static void no_answer_is_not_done(void **state)
{
    (void)state;
    enum sl_status status = SL_OK;
    uint64_t first = sl_enqueued_submitted(&direction, &device.backend, true, &status);
    ((struct noted_event *)sl_enqueued_event(&direction, first))->done = true;
    device.says_nothing = true;
    assert_false(sl_enqueued_ask_done(&direction, &device.backend, first));
    device.says_nothing = false;
    assert_true(sl_enqueued_ask_done(&direction, &device.backend, first));
}

/* Stalls end with fetches, so these have times; what leaves needs none. */
static void events_of_fetches_have_times(void **state)
{
    (void)state;
    struct sl_enqueued in = {0};
    assert_int_equal(sl_enqueued_init(&in, &device.backend, &device.in), SL_OK);
    enum sl_status status = SL_OK;
    uint64_t came = sl_enqueued_submitted(&in, &device.backend, true, &status);
    assert_true(noted_event(sl_enqueued_event(&in, came))->timed);
    assert_false(event_of(submit(true))->timed);
    sl_enqueued_close(&in, &device.backend);
}

static void one_that_was_not_built_is_closed(void **state)
{
    (void)state;
    struct sl_enqueued half = {0};
    sl_enqueued_close(&half, &device.backend);
    device.events_left = 7;
    assert_int_equal(sl_enqueued_init(&half, &device.backend, &device.in), SL_ERR_DRIVER);
    uint64_t deleted = device.deleted;
    sl_enqueued_close(&half, &device.backend);
    assert_int_equal(device.deleted - deleted, 7);
}

/* Where the device is gone its events are not touched any more. */
static void a_device_that_is_gone_is_not_asked(void **state)
{
    (void)state;
    struct noted_device gone;
    struct sl_enqueued left = {0};
    sl_event_handle events[SL_EVENTS_LEAST];
    noted_device_begin(&gone);
    assert_int_equal(sl_enqueued_init(&left, &gone.backend, &gone.in), SL_OK);
    for (uint64_t s = 1; s <= SL_EVENTS_LEAST; s++) events[s - 1] = atomic_load(&left.events[s]);
    sl_enqueued_close(&left, NULL);
    assert_int_equal(gone.deleted, 0);
    for (int i = 0; i < SL_EVENTS_LEAST; i++) free(events[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_before_a_movement_that_is_done_are, start, stop),
        cmocka_unit_test_setup_teardown(what_was_not_issued_is_not_done, start, stop),
        cmocka_unit_test_setup_teardown(what_is_known_to_be_done_stays_so, start, stop),
        cmocka_unit_test_setup_teardown(each_movement_under_way_has_its_own_event, start, stop),
        cmocka_unit_test_setup_teardown(events_serve_again_when_their_movements_are_done, start, stop),
        cmocka_unit_test_setup_teardown(without_asking_nothing_is_taken_for_done, start, stop),
        cmocka_unit_test_setup_teardown(where_there_are_too_many_the_oldest_serves, start, stop),
        cmocka_unit_test_setup_teardown(where_the_driver_gives_no_more_the_oldest_serves, start, stop),
        cmocka_unit_test_setup_teardown(an_event_that_cannot_be_recorded, start, stop),
        cmocka_unit_test_setup_teardown(what_is_neither_recorded_nor_waited_for_is_ahead, start, stop),
        cmocka_unit_test_setup_teardown(no_answer_is_not_done, start, stop),
        cmocka_unit_test_setup_teardown(events_of_fetches_have_times, start, stop),
        cmocka_unit_test_setup_teardown(one_that_was_not_built_is_closed, start, stop),
        cmocka_unit_test_setup_teardown(a_device_that_is_gone_is_not_asked, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
