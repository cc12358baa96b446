/* Which launches are timed: every one over time, none more often than was asked. Each test is a process of
 * its own, since the core runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "trace_file.h"

#define PERIOD 192 /* a multiple of the stride, and of what symbols without a sample get */
#define ROUNDS 160

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};
static uint64_t address;

/* Launches that differ in the grid. */
static void launch(uint32_t number)
{
    void *parameters[] = {&address};
    core_launch(core_kernel(&kernel, parameters, number + 1));
}

static void launch_rounds(int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < PERIOD; i++) launch(i);
}

static void launch_while_captured(void)
{
    launch_rounds(20);
    sl_runtime_capture(1);
    launch_rounds(20);
    sl_runtime_capture(-1);
}

static void launch_periods(void)
{
    launch_rounds(ROUNDS);
}

/* In pairs, as of two threads. */
static void launch_at_once(void)
{
    void *parameters[] = {&address};
    for (uint32_t i = 0; i < PERIOD; i++) {
        struct sl_launch one = core_kernel(&kernel, parameters, 1),
                         other = core_kernel(&kernel, parameters, 2);
        sl_runtime_launch_begin(&one);
        sl_runtime_launch_begin(&other);
        sl_runtime_launch_end(&one, true);
        sl_runtime_launch_end(&other, true);
    }
}

/* Never predicted: each has a grid of its own. */
static void launch_ever_new(void)
{
    for (uint32_t i = 0; i < 20 * PERIOD; i++) launch(i);
}

static void launch_refused(void)
{
    void *parameters[] = {&address};
    for (uint32_t i = 0; i < 20 * PERIOD; i++) {
        struct sl_launch refused = core_kernel(&kernel, parameters, 1 + i % PERIOD);
        sl_runtime_launch_begin(&refused);
        sl_runtime_launch_end(&refused, false);
    }
}

static void collect(uint64_t bytes)
{
    core_launch((struct sl_launch){.kind = SL_LAUNCH_COLLECTIVE,
                                   .spans = {{address, bytes, true}},
                                   .span_count = 1,
                                   .collective = 1,
                                   .communicator = 7});
}

/* Each is another one, behind kernels that are others, too. */
static void launch_collectives(void)
{
    for (uint32_t i = 0; i < 2 * PERIOD; i++) {
        launch(i);
        collect(8 * (i + 1));
    }
}

static void launch_periods_with_collectives(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < PERIOD / 2; i++) {
            launch(i);
            collect(8);
        }
}

/* How often each tick's launch in its period was timed after `launches` with SLUICE_TRACE_SAMPLE=`every`.
 * Returns how many were. */
static uint32_t count_samples(const char *every, void (*launches)(void), uint32_t timed[PERIOD])
{
    char path[] = "/tmp/sluice-sample-XXXXXX";
    int status;
    close(mkstemp(path));
    pid_t child = fork();
    if (!child) {
        setenv("SLUICE_TRACE", path, 1);
        setenv("SLUICE_TRACE_FULL", "wait", 1);
        setenv("SLUICE_TRACE_SAMPLE", every, 1);
        setenv("SLUICE_DAEMON", "inline", 1);
        if (core_start(NULL)) _exit(1);
        address = core_take(4096);
        launches();
        core_stop(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct trace_content content = trace_read_file(path);
    uint32_t count = 0;
    memset(timed, 0, PERIOD * sizeof *timed);
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        if (event->type != SL_EVENT_DURATION) continue;
        assert_int_not_equal(event->a, 0);
        assert_true(event->id <= 1);
        timed[(event->tick - 1) % PERIOD]++;
        count++;
    }
    trace_content_free(&content);
    unlink(path);
    return count;
}

static void every_launch_gets_its_turn(void **state)
{
    (void)state;
    uint32_t timed[PERIOD], least = UINT32_MAX, most = 0;
    uint32_t count = count_samples("64", launch_periods, timed);
    for (int i = 0; i < PERIOD; i++) {
        if (timed[i] < least) least = timed[i];
        if (timed[i] > most) most = timed[i];
    }
    assert_int_not_equal(least, 0);
    assert_in_range(most, least, least + 1);
    /* Each once, soon, and the others at the rate. */
    assert_in_range(count, PERIOD + (ROUNDS - 20) * PERIOD / 64 - PERIOD, PERIOD + ROUNDS * PERIOD / 64);
}

static void launch_few_periods(void)
{
    launch_rounds(6);
}

/* Else the times of most launches of a short run would be guessed. */
static void the_first_steps_are_timed_densely(void **state)
{
    (void)state;
    uint32_t timed[PERIOD];
    uint32_t count = count_samples("256", launch_few_periods, timed);
    for (int i = 0; i < PERIOD; i++) assert_int_not_equal(timed[i], 0);
    assert_in_range(count, PERIOD, PERIOD + 6 * PERIOD / 256 + 1);
}

static void one_is_all_and_zero_is_none(void **state)
{
    (void)state;
    uint32_t timed[PERIOD];
    assert_int_equal(count_samples("1", launch_periods, timed), ROUNDS * PERIOD);
    assert_int_equal(count_samples("0", launch_periods, timed), 0);
}

static void nothing_is_timed_while_something_is_captured(void **state)
{
    (void)state;
    uint32_t timed[PERIOD];
    uint32_t before = count_samples("1", launch_while_captured, timed);
    assert_int_equal(before, 20 * PERIOD);
}

static void what_may_not_be_alone_between_its_events_is_not_told(void **state)
{
    (void)state;
    uint32_t timed[PERIOD];
    assert_int_equal(count_samples("1", launch_at_once, timed), 0);
}

static void what_never_repeats_or_is_refused_is_not_timed(void **state)
{
    (void)state;
    uint32_t timed[PERIOD];
    assert_int_equal(count_samples("64", launch_ever_new, timed), 0);
    assert_int_equal(count_samples("1", launch_refused, timed), 0);
}

static void every_collective_is_timed(void **state)
{
    (void)state;
    uint32_t timed[PERIOD];
    assert_int_equal(count_samples("1000000", launch_collectives, timed), 2 * PERIOD);
    for (int i = 0; i < PERIOD; i++) assert_int_equal(timed[i], i % 2 ? 4 : 0);
    assert_int_equal(count_samples("0", launch_collectives, timed), 0);
}

static void other_launches_get_their_turns_beside_collectives(void **state)
{
    (void)state;
    uint32_t timed[PERIOD];
    count_samples("64", launch_periods_with_collectives, timed);
    for (int i = 0; i < PERIOD; i++) {
        if (i % 2)
            assert_int_equal(timed[i], ROUNDS);
        else
            assert_in_range(timed[i], 1, ROUNDS / 32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_launch_gets_its_turn),
        cmocka_unit_test(the_first_steps_are_timed_densely),
        cmocka_unit_test(one_is_all_and_zero_is_none),
        cmocka_unit_test(nothing_is_timed_while_something_is_captured),
        cmocka_unit_test(what_may_not_be_alone_between_its_events_is_not_told),
        cmocka_unit_test(what_never_repeats_or_is_refused_is_not_timed),
        cmocka_unit_test(every_collective_is_timed),
        cmocka_unit_test(other_launches_get_their_turns_beside_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
