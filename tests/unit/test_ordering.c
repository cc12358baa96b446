/* What the driver refuses to order is ordered by waiting on the host, and nothing else is waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/ordering.h"

/* A device that takes notes: what it was asked for last, and how often it was waited for. */
struct device {
    bool refuses;
    unsigned waited, finished;
    sl_stream stream;
    sl_event_handle event, waited_for;
};

static enum sl_status stream_wait(void *self, sl_stream stream, sl_event_handle event)
{
    struct device *device = self;
    device->stream = stream;
    device->event = event;
    return device->refuses ? SL_ERR_DRIVER : SL_OK;
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream stream)
{
    struct device *device = self;
    device->stream = stream;
    device->event = event;
    return device->refuses ? SL_ERR_NO_MEMORY : SL_OK;
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    struct device *device = self;
    device->waited++;
    device->waited_for = event;
    return SL_OK;
}

static enum sl_status stream_finish(void *self, sl_stream stream)
{
    struct device *device = self;
    device->finished++;
    device->waited_for = stream;
    return SL_OK;
}

static struct device device;
static const struct sl_backend backend = {.self = &device,
                                          .stream_wait = stream_wait,
                                          .event_record = event_record,
                                          .event_wait = event_wait,
                                          .stream_finish = stream_finish};
static int a_stream, an_event;

static void a_wait_is_the_devices(void **state)
{
    (void)state;
    device = (struct device){.refuses = false};
    sl_wait_event(&backend, &a_stream, &an_event);
    assert_ptr_equal(device.stream, &a_stream);
    assert_ptr_equal(device.event, &an_event);
    assert_int_equal(device.waited + device.finished, 0);
    assert_int_equal(sl_record_event(&backend, &an_event, NULL), SL_OK);
    assert_null(device.stream);
    assert_ptr_equal(device.event, &an_event);
    assert_int_equal(device.waited + device.finished, 0);
}

static void a_refused_wait_is_made_on_the_host(void **state)
{
    (void)state;
    device = (struct device){.refuses = true};
    sl_wait_event(&backend, &a_stream, &an_event);
    assert_int_equal(device.waited, 1);
    assert_ptr_equal(device.waited_for, &an_event);
    assert_int_equal(device.finished, 0);
}

/* Whoever waits for an event that was not recorded would wait for nothing: the stream is done by then. */
static void a_refused_record_waits_for_the_stream(void **state)
{
    (void)state;
    device = (struct device){.refuses = true};
    assert_int_equal(sl_record_event(&backend, &an_event, &a_stream), SL_ERR_NO_MEMORY);
    assert_int_equal(device.finished, 1);
    assert_ptr_equal(device.waited_for, &a_stream);
    assert_int_equal(device.waited, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_the_devices),
        cmocka_unit_test(a_refused_wait_is_made_on_the_host),
        cmocka_unit_test(a_refused_record_waits_for_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
