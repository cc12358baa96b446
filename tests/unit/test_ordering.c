/* What the driver refuses now and then is ordered all the same, by whatever has the same effect; what cannot
 * be ordered is said not to be. Nothing else is waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/backend.h"

/* A device that takes notes. Of each kind of call it refuses the first ones. */
struct device {
    unsigned refuses_waits, refuses_records, refuses_host_waits, refuses_finishing, refuses_questions;
    unsigned waited, recorded, host_waited, finished, asked;
    unsigned ahead; /* the event is not reached yet, so many questions long */
    sl_stream stream;
    sl_event_handle event;
};

static struct device device;
static int a_stream, an_event;

static enum sl_status made(unsigned *refusals, unsigned *count)
{
    if (*refusals) return --*refusals, SL_ERR_DRIVER;
    return ++*count, SL_OK;
}

static enum sl_status stream_wait(void *self, sl_stream stream, sl_event_handle event)
{
    (void)self;
    device.stream = stream;
    assert_ptr_equal(event, &an_event);
    return made(&device.refuses_waits, &device.waited);
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream stream)
{
    (void)self;
    device.stream = stream;
    assert_ptr_equal(event, &an_event);
    return made(&device.refuses_records, &device.recorded);
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    (void)self;
    assert_ptr_equal(event, &an_event);
    return made(&device.refuses_host_waits, &device.host_waited);
}

static enum sl_status stream_finish(void *self, sl_stream stream)
{
    (void)self;
    assert_ptr_equal(stream, &a_stream);
    return made(&device.refuses_finishing, &device.finished);
}

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    (void)self;
    assert_ptr_equal(event, &an_event);
    if (made(&device.refuses_questions, &device.asked)) return sl_no_answer();
    if (!device.ahead) return sl_answer_of(true);
    device.ahead--;
    return sl_answer_of(false);
}

static const struct sl_backend backend = {.stream_wait = stream_wait,
                                          .event_record = event_record,
                                          .event_wait = event_wait,
                                          .event_done = event_done,
                                          .stream_finish = stream_finish};
#define ALWAYS 1000000u

static void a_wait_is_the_devices(void **state)
{
    (void)state;
    device = (struct device){0};
    assert_int_equal(sl_wait_event(&backend, &a_stream, &an_event), SL_OK);
    assert_ptr_equal(device.stream, &a_stream);
    assert_int_equal(sl_record_event(&backend, &an_event, NULL), SL_OK);
    assert_null(device.stream);
    assert_int_equal(device.waited + device.recorded, 2);
    assert_int_equal(device.host_waited + device.finished + device.asked, 0);
}

static void a_refused_wait_is_made_on_the_host(void **state)
{
    (void)state;
    device = (struct device){.refuses_waits = ALWAYS};
    assert_int_equal(sl_wait_event(&backend, &a_stream, &an_event), SL_OK);
    assert_int_equal(device.host_waited, 1);
    device = (struct device){.refuses_waits = 1, .refuses_host_waits = 2, .refuses_questions = 1};
    assert_int_equal(sl_wait_event(&backend, &a_stream, &an_event), SL_OK);
    assert_true(device.host_waited + device.asked > 0);
}

/* An event that is known to be ahead is waited for, however often the driver refuses to wait. */
static void what_is_ahead_is_waited_for(void **state)
{
    (void)state;
    device = (struct device){.refuses_host_waits = ALWAYS, .ahead = 500};
    assert_int_equal(sl_wait_host(&backend, &an_event), SL_OK);
    assert_int_equal(device.ahead, 0);
}

static void what_cannot_be_waited_for_is_not_done(void **state)
{
    (void)state;
    device =
        (struct device){.refuses_waits = ALWAYS, .refuses_host_waits = ALWAYS, .refuses_questions = ALWAYS};
    assert_int_equal(sl_wait_event(&backend, &a_stream, &an_event), SL_ERR_DRIVER);
    assert_int_equal(sl_wait_host(&backend, &an_event), SL_ERR_DRIVER);
    assert_int_equal(sl_wait_beside(&backend, &a_stream, &an_event), SL_ERR_DRIVER);
    device = (struct device){.refuses_finishing = ALWAYS};
    assert_int_equal(sl_finish_stream(&backend, &a_stream), SL_ERR_DRIVER);
    device = (struct device){.refuses_records = ALWAYS, .refuses_finishing = ALWAYS};
    assert_int_equal(sl_record_event(&backend, &an_event, &a_stream), SL_ERR_DRIVER);
}

/* A stream that may capture is not made to wait if the host can. */
static void beside_captures_the_host_waits(void **state)
{
    (void)state;
    device = (struct device){0};
    assert_int_equal(sl_wait_beside(&backend, &a_stream, &an_event), SL_OK);
    assert_int_equal(device.host_waited, 1);
    assert_int_equal(device.waited, 0);
    device = (struct device){.refuses_host_waits = ALWAYS, .refuses_questions = ALWAYS};
    assert_int_equal(sl_wait_beside(&backend, &a_stream, &an_event), SL_OK);
    assert_int_equal(device.waited, 1);
}

/* Whoever waits for an event that was not recorded would wait for nothing: the stream is done by then. */
static void a_refused_record_waits_for_the_stream(void **state)
{
    (void)state;
    device = (struct device){.refuses_records = ALWAYS, .refuses_finishing = 2};
    assert_int_equal(sl_record_event(&backend, &an_event, &a_stream), SL_OK);
    assert_int_equal(device.finished, 1);
    device = (struct device){.refuses_records = 1, .refuses_finishing = ALWAYS};
    assert_int_equal(sl_record_event(&backend, &an_event, &a_stream), SL_OK);
    assert_int_equal(device.recorded, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_the_devices),
        cmocka_unit_test(a_refused_wait_is_made_on_the_host),
        cmocka_unit_test(what_is_ahead_is_waited_for),
        cmocka_unit_test(what_cannot_be_waited_for_is_not_done),
        cmocka_unit_test(beside_captures_the_host_waits),
        cmocka_unit_test(a_refused_record_waits_for_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
