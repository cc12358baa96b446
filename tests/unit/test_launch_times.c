/* How long the host takes for a launch, from a trace: breaks if what the device or a wait took counts, or
 * what measuring itself took. */
#include "tools/analyses/launch_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { COUNT = 40, HOST_NS = 7000, SAMPLE_NS = 3000 };

static struct model_duration durations[COUNT];
static struct model model = {.durations = {durations, COUNT, COUNT}};

/* Each launch is measured, and begins when the host enqueues it. */
static void start(void)
{
    for (uint64_t i = 0; i < COUNT; i++)
        durations[i] = (struct model_duration){
            .tick = 10 + i, .took_ns = 1000, .began_ns = 1 + i * (HOST_NS + SAMPLE_NS), .idle = true};
    model.durations.count = COUNT;
}

/* From launch `from` on everything is `ns` later. */
static void delay(uint64_t from, uint64_t ns)
{
    for (uint64_t i = from; i < COUNT; i++) durations[i].began_ns += ns;
}

static void it_is_the_time_between_two_begins(void **state)
{
    (void)state;
    start();
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), HOST_NS);
    assert_int_equal(measured_host_ns(&model, 2 * (HOST_NS + SAMPLE_NS)), 0);
    delay(7, 5000000); /* the host waits for a step's loss */
    delay(30, 5000000);
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), HOST_NS);
}

/* Then only those of both ends take time for it. */
static void launches_between_were_not_measured(void **state)
{
    (void)state;
    start();
    for (uint64_t i = 0; i < COUNT; i++) {
        durations[i].tick = 10 + 8 * i;
        durations[i].began_ns = 1 + i * (8 * HOST_NS + SAMPLE_NS);
    }
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), HOST_NS);
    for (uint64_t i = 0; i < COUNT; i++) durations[i].tick = 10 + 1000 * i; /* so many that it waited */
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), 0);
}

static void where_the_device_is_busy_nothing_is_known(void **state)
{
    (void)state;
    start();
    for (uint64_t i = 0; i < COUNT; i += 2) durations[i].idle = false;
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), 0);
    start();
    model.durations.count = 10; /* too few */
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), 0);
    model.durations.count = 0;
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), 0);
}

/* A file may say anything. */
static void times_that_cannot_be_do_not_count(void **state)
{
    (void)state;
    start();
    for (uint64_t i = 0; i < COUNT; i++) durations[i].began_ns = i % 2 ? UINT64_MAX - i : 0;
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), 0);
    start();
    for (uint64_t i = 0; i < COUNT; i++) durations[i].tick = 10;
    assert_int_equal(measured_host_ns(&model, SAMPLE_NS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_time_between_two_begins),
        cmocka_unit_test(launches_between_were_not_measured),
        cmocka_unit_test(where_the_device_is_busy_nothing_is_known),
        cmocka_unit_test(times_that_cannot_be_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
