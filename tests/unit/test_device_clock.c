/* The device's clock against the records': on a device whose clock the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "device/device_clock.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

static struct event {
    uint64_t ns;
    bool done;
} events[64];
static unsigned event_count;
static uint64_t device_ns;
static bool busy; /* what is recorded now is not reached yet */
static bool refuses_events;

static enum sl_status event_new(void *self, sl_event_handle *out)
{
    (void)self;
    if (refuses_events) return SL_ERR_DRIVER;
    *out = &events[event_count++];
    return SL_OK;
}

static void event_delete(void *self, sl_event_handle event)
{
    (void)self;
    ((struct event *)event)->ns = 0;
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream stream)
{
    (void)self;
    (void)stream;
    *(struct event *)event = (struct event){device_ns, !busy};
    return SL_OK;
}

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    (void)self;
    return sl_answer_of(((struct event *)event)->done);
}

/* As the driver tells it: a float of milliseconds; the contract has no negative times. */
static uint64_t event_elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    const struct event *begin = from, *end = to;
    (void)self;
    float ms = (float)(((double)end->ns - (double)begin->ns) * 1e-6);
    return ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
}

static const struct sl_backend backend = {.timed_event_new = event_new,
                                          .event_delete = event_delete,
                                          .event_record = event_record,
                                          .event_done = event_done,
                                          .event_elapsed_ns = event_elapsed_ns};

/* A clock whose anchor is at `ns` of the device; *host_ns is what the host's clock said, to 1 ms. */
static struct sl_device_clock *clock_at(uint64_t ns, uint64_t *host_ns)
{
    event_count = 0;
    busy = false;
    device_ns = ns;
    *host_ns = sl_clock_ns(CLOCK_MONOTONIC);
    struct sl_device_clock *clock = sl_device_clock_new(&backend, NULL);
    assert_non_null(clock);
    return clock;
}

static uint64_t when(struct sl_device_clock *clock, uint64_t ns)
{
    struct event event = {ns, true};
    return sl_device_clock_when(clock, &event);
}

static void times_are_counted_from_the_anchor_both_ways(void **state)
{
    (void)state;
    uint64_t host, zero;
    struct sl_device_clock *clock = clock_at(100 * S, &host);
    zero = when(clock, 100 * S);
    assert_in_range(zero, host, host + 100 * MS);
    assert_int_equal(when(clock, 100 * S + 7000), zero + 7000);
    assert_int_equal(when(clock, 100 * S - 7000), zero - 7000);
    /* A microsecond is kept until an anchor is old. */
    for (uint64_t ns = 0; ns < 4 * S; ns += 123457891) {
        uint64_t found = when(clock, 100 * S + ns);
        assert_in_range(found, zero + ns - 500, zero + ns + 500);
    }
    sl_device_clock_delete(clock, false);
}

static void an_anchor_on_a_busy_stream_counts_on(void **state)
{
    (void)state;
    uint64_t host;
    struct sl_device_clock *clock = clock_at(100 * S, &host);
    uint64_t zero = when(clock, 100 * S);
    for (int i = 1; i <= 10; i++) { /* 40 s, which a float of milliseconds would tell to 4 us */
        device_ns = 100 * S + (uint64_t)i * 4 * S;
        sl_device_clock_anchor(clock, NULL, false);
        uint64_t found = when(clock, device_ns + 1000);
        assert_in_range(found, zero + device_ns - 100 * S + 1000 - 500 * (uint64_t)i,
                        zero + device_ns - 100 * S + 1000 + 500 * (uint64_t)i);
    }
    assert_int_equal(event_count, 2); /* which take turns */
    sl_device_clock_delete(clock, false);
}

/* The device's clock runs otherwise than the host's: an idle stream tells. */
static void an_anchor_on_an_idle_stream_asks_the_host(void **state)
{
    (void)state;
    uint64_t host;
    struct sl_device_clock *clock = clock_at(100 * S, &host);
    device_ns = 200 * S;
    uint64_t before = sl_clock_ns(CLOCK_MONOTONIC);
    sl_device_clock_anchor(clock, NULL, true);
    assert_in_range(when(clock, 200 * S), before, before + 100 * MS);
    sl_device_clock_delete(clock, false);
}

static void an_anchor_counts_when_it_is_reached(void **state)
{
    (void)state;
    uint64_t host;
    struct sl_device_clock *clock = clock_at(100 * S, &host);
    uint64_t zero = when(clock, 100 * S);
    busy = true;
    device_ns = 300 * S;
    sl_device_clock_anchor(clock, NULL, false);
    assert_int_equal(when(clock, 100 * S + MS), zero + MS);
    assert_false(sl_device_clock_is_old(clock)); /* one is under way */
    events[1].ns = 101 * S;
    events[1].done = true;
    assert_in_range(when(clock, 101 * S + MS), zero + S + MS - 100, zero + S + MS + 100);
    sl_device_clock_delete(clock, false);
    sl_device_clock_delete(NULL, false);
}

static void a_driver_may_want_no_events(void **state)
{
    (void)state;
    uint64_t host;
    refuses_events = true;
    assert_null(sl_device_clock_new(&backend, NULL));
    refuses_events = false;
    struct sl_device_clock *clock = clock_at(100 * S, &host);
    uint64_t zero = when(clock, 100 * S);
    refuses_events = true;
    device_ns = 200 * S;
    sl_device_clock_anchor(clock, NULL, true); /* none: the first one holds */
    assert_int_equal(when(clock, 100 * S + MS), zero + MS);
    refuses_events = false;
    sl_device_clock_delete(clock, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_counted_from_the_anchor_both_ways),
        cmocka_unit_test(an_anchor_on_a_busy_stream_counts_on),
        cmocka_unit_test(an_anchor_on_an_idle_stream_asks_the_host),
        cmocka_unit_test(an_anchor_counts_when_it_is_reached),
        cmocka_unit_test(a_driver_may_want_no_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
