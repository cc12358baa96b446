/* For how long launches waited for fetches, and how long steps took by the same clock: breaks if a stall is
 * counted twice, for another iteration, before it is over or by another fetch's event, if a launch that
 * cannot be measured does not wait, or if a step begins with another stall than its first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/core.h"
#include "noted_device.h"
#include "trace_file.h"

static struct noted_device device;
static uint64_t reached_ns;   /* up to here the device got; work has the time at which it takes place */
static uint32_t waits_before; /* a launch */

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    (void)self;
    return sl_answer_of(noted_event(event)->time_ns <= reached_ns);
}

static uint64_t event_elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    uint64_t begin = noted_event(from)->time_ns, end = noted_event(to)->time_ns;
    assert_true(sl_is_yes(event_done(self, from)) && sl_is_yes(event_done(self, to)));
    return end > begin ? end - begin : 0;
}

/* A launch's stream gets to the event before it waits. */
static void recording(void)
{
    assert_int_equal(device.wait_count, waits_before);
}

static struct sl_core core;
static int program, other; /* their addresses are the streams that launch */

static int begin(void **state)
{
    (void)state;
    noted_device_begin(&device);
    device.backend.event_done = event_done;
    device.backend.event_elapsed_ns = event_elapsed_ns;
    device.recording = recording;
    reached_ns = waits_before = 0;
    memset(&core, 0, sizeof core);
    core.sampling.core = core.recorder.core = &core;
    core.backend = device.backend;
    core.migrator.backend = &core.backend;
    core.history.ticks.now = 1;
    return sl_link_direction_init(&core.migrator.in, &device.backend, &device.in, SL_LOCK_IN) ||
                   sl_stats_init(&core.stats)
               ? -1
               : 0;
}

static int end(void **state)
{
    (void)state;
    sl_stalls_close(&core.sampling, false);
    sl_link_direction_close(&core.migrator.in, &device.backend);
    assert_int_equal(device.deleted, device.made);
    sl_stats_close(&core.stats);
    return 0;
}

/* A fetch that ends at this time. */
static uint64_t fetch(uint64_t end_ns)
{
    enum sl_status status = SL_OK;
    device.now_ns = end_ns;
    waits_before = device.wait_count;
    sl_lock(&core.migrator.in.lock);
    uint64_t sequence = sl_link_direction_submitted(&core.migrator.in, &device.backend, false, &status);
    sl_unlock(&core.migrator.in.lock);
    assert_int_equal(status, SL_OK);
    return sequence;
}

/* A launch whose stream gets to it at this time and then waits for the fetch. */
static void launch_on(int *stream, uint64_t at_ns, uint64_t sequence)
{
    core.history.ticks.now++;
    struct sl_stall *stall = sl_stall_new(&core.sampling);
    device.now_ns = at_ns;
    waits_before = device.wait_count;
    sl_stall_wait(&core.sampling, stall, stream, sequence);
    assert_int_equal(device.wait_count, waits_before + 1);
    assert_ptr_equal(device.waits[waits_before].stream, stream);
    assert_ptr_equal(device.waits[waits_before].event, sl_link_direction_event(&core.migrator.in, sequence));
}

static void launch(uint64_t at_ns, uint64_t sequence)
{
    launch_on(&program, at_ns, sequence);
}

static void settle_at(uint64_t now_ns)
{
    reached_ns = now_ns;
    sl_stalls_settle(&core.sampling);
}

static void a_stall_is_counted_once_when_it_is_over(void **state)
{
    (void)state;
    launch(1000, fetch(1470));
    settle_at(999);
    assert_int_equal(core.stats.total.stalls, 0);
    settle_at(1200); /* its stream waits */
    assert_int_equal(core.stats.total.stalls, 0);
    for (int i = 0; i < 3; i++) {
        settle_at(1470);
        assert_int_equal(core.stats.total.stalls, 1);
        assert_int_equal(core.stats.total.stall_ns, 470);
    }
}

/* Fetches end in their order, but the stream may get to its wait long after. */
static void a_fetch_that_was_there_first_is_no_stall(void **state)
{
    (void)state;
    launch(3000, fetch(2000));
    settle_at(2500);
    settle_at(3000);
    assert_int_equal(core.stats.total.stalls, 0);
    assert_int_equal(core.stats.total.stall_ns, 0);
    assert_int_equal(core.sampling.stalls.at[0].in_sequence, 0);
}

/* That another stream has passed its launch says nothing of this one. */
static void each_stream_has_its_own_pace(void **state)
{
    (void)state;
    uint64_t first = fetch(1100), second = fetch(1200);
    launch_on(&other, 1900, first);
    launch(1000, second);
    settle_at(1500);
    assert_int_equal(core.stats.total.stalls, 1);
    assert_int_equal(core.stats.total.stall_ns, 200);
    settle_at(2000);
    assert_int_equal(core.stats.total.stalls, 1);
}

static void it_belongs_to_the_iteration_of_the_launch(void **state)
{
    (void)state;
    launch(1000, fetch(1100));
    sl_stats_next_iteration(&core.stats);
    launch(2000, fetch(2010));
    sl_stats_next_iteration(&core.stats);
    settle_at(5000);
    assert_int_equal(core.stats.iterations[0].stall_ns, 100);
    assert_int_equal(core.stats.iterations[0].stalls, 1);
    assert_int_equal(core.stats.iterations[1].stall_ns, 10);
    assert_int_equal(core.stats.iterations[1].stalls, 1);
    assert_int_equal(core.stats.iterations[2].stalls, 0);
    assert_int_equal(core.stats.total.stall_ns, 110);
}

static void the_trace_is_told_of_the_launch(void **state)
{
    (void)state;
    char path[] = "/tmp/sluice-stall-XXXXXX";
    int fd = mkstemp(path);
    assert_int_not_equal(fd, -1);
    close(fd);
    struct sl_trace_options how = {.full = SL_TRACE_WAIT};
    assert_int_equal(sl_trace_open(path, &how, &core.recorder.trace), SL_OK);
    core.history.ticks.now = 41;
    launch(1000, fetch(1470)); /* launch 42 */
    core.history.ticks.now = 50;
    settle_at(9000);
    sl_trace_close(core.recorder.trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, 1);
    const struct sl_event *event = &content.records[0].event;
    assert_int_equal(event->type, SL_EVENT_STALL);
    assert_int_equal(event->a, 470);
    assert_int_equal(event->c, 42);
    trace_content_free(&content);
}

/* An event that serves a later movement would have that one's time. */
static void what_lost_its_event_is_not_measured(void **state)
{
    (void)state;
    uint64_t first = fetch(1470);
    device.events_left = 1; /* for the launch */
    launch(1000, first);
    for (int i = 0; i < SL_EVENTS_LEAST; i++) fetch(2000);
    assert_false(sl_link_direction_has_event(&core.migrator.in, first));
    settle_at(9000);
    assert_int_equal(core.stats.total.stalls, 0);
    assert_int_equal(core.sampling.stalls.at[0].in_sequence, 0);
}

/* Those that are over are counted before their places are taken. */
static void more_stalls_than_places(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SL_STALLS; i++) launch(1000 * i, fetch(1000 * i + 7));
    reached_ns = 1000 * SL_STALLS;
    assert_int_equal(core.stats.total.stalls, 0);
    launch(reached_ns + 1, fetch(reached_ns + 2));
    assert_int_equal(core.stats.total.stalls, SL_STALLS);
    assert_int_equal(core.stats.total.stall_ns, 7 * SL_STALLS);
    settle_at(reached_ns + 2);
    assert_int_equal(core.stats.total.stalls, SL_STALLS + 1);
}

/* A thread is held up between its launch and its wait: nobody else gets its place. */
static void a_place_is_one_threads(void **state)
{
    (void)state;
    uint64_t sequence = fetch(1470);
    device.recording = NULL;
    struct sl_stall *held = sl_stall_new(&core.sampling);
    assert_non_null(held);
    for (int i = 1; i < 3 * SL_STALLS; i++) {
        struct sl_stall *next = sl_stall_new(&core.sampling);
        assert_ptr_not_equal(next, held);
        assert_int_equal(next == NULL, i % SL_STALLS == 0);
        sl_stall_wait(&core.sampling, next, &program, sequence);
    }
    sl_stall_wait(&core.sampling, held, &program, sequence);
    bool again = false;
    for (int i = 0; i < SL_STALLS; i++) {
        struct sl_stall *next = sl_stall_new(&core.sampling);
        again |= next == held;
        sl_stall_wait(&core.sampling, next, &program, sequence);
    }
    assert_true(again);
}

/* Where the device is far behind the oldest gives way. No more events are made than there are places. */
static void the_device_is_far_behind(void **state)
{
    (void)state;
    uint64_t before = device.made;
    uint64_t sequence = fetch(UINT64_C(1) << 32);
    for (uint64_t i = 0; i < 3 * SL_STALLS; i++) launch(1000 + i, sequence);
    assert_int_equal(device.made, before + SL_STALLS);
    settle_at(UINT64_C(1) << 32);
    assert_int_equal(core.stats.total.stalls, SL_STALLS);
}

static void without_an_event_it_waits_all_the_same(void **state)
{
    (void)state;
    uint64_t sequence = fetch(1470);
    device.events_left = 0;
    core.history.ticks.now++;
    assert_null(sl_stall_new(&core.sampling));
    launch(1000, sequence);
    settle_at(9000);
    assert_int_equal(core.stats.total.stalls, 0);
}

static void without_a_record_it_waits_all_the_same(void **state)
{
    (void)state;
    uint64_t sequence = fetch(1470);
    device.refuses_records = true;
    launch(1000, sequence);
    settle_at(9000);
    assert_int_equal(core.stats.total.stalls, 0);
    device.refuses_records = false;
    launch(9500, fetch(9600));
    settle_at(9600);
    assert_int_equal(core.stats.total.stalls, 1);
    assert_int_equal(core.stats.total.stall_ns, 100);
}

/* From the first stall of one step to that of the next, however many each has. */
static void a_step_is_measured_by_its_stalls(void **state)
{
    (void)state;
    launch(500, fetch(600)); /* before the first step */
    for (uint64_t step = 1; step <= 3; step++) {
        settle_at(10000 * step);
        sl_stalls_step(&core.sampling);
        assert_int_equal(core.sampling.stalls.step_ns, step == 3 ? 10000 : 0);
        launch(10000 * step + 7, fetch(10000 * step + 107));
        launch(10000 * step + 500, fetch(10000 * step + 530));
    }
    settle_at(40000);
    assert_int_equal(core.sampling.stalls.step_ns, 10000);
    assert_int_equal(core.sampling.stalls.step_stall_ns, 130);
}

/* What was counted between marks; of what is long ago an eighth is forgotten with each mark. */
static void recent_steps_are_remembered(void **state)
{
    (void)state;
    const struct sl_stalls *stalls = &core.sampling.stalls;
    double call_ns = 0, steps_ns = 0;
    core.stats.total.call_ns[1] = 1000000; /* before the first mark: of steps that nobody measured */
    for (uint64_t step = 1; step <= 30; step++) {
        sl_stalls_step(&core.sampling);
        launch(10000 * step, fetch(10000 * step + 100));
        settle_at(10000 * step + 5000);
        core.stats.total.call_ns[1] += 40 * step;
        if (step == 1) continue;
        steps_ns += 10000 - steps_ns / 8;
        call_ns += 40 * ((double)step - 1) - call_ns / 8;
        assert_in_range(stalls->recent_ns, (uint64_t)steps_ns - 8, (uint64_t)steps_ns + 8);
        assert_in_range(stalls->recent.call_ns[1] + 8, (uint64_t)call_ns, (uint64_t)call_ns + 16);
        assert_int_equal(stalls->recent.call_ns[0], 0);
    }
}

/* A step without a stall, or whose stall is known late, is measured together with the next. */
static void steps_that_end_unseen_are_a_mean(void **state)
{
    (void)state;
    sl_stalls_step(&core.sampling);
    launch(1000, fetch(1100));
    settle_at(2000);
    sl_stalls_step(&core.sampling);
    launch(4000, fetch(4060));
    sl_stalls_step(&core.sampling);
    sl_stalls_step(&core.sampling);
    launch(7000, fetch(7030)); /* the third step after the first */
    settle_at(9000);
    assert_int_equal(core.sampling.stalls.step_ns, 2000);
    assert_int_equal(core.sampling.stalls.step_stall_ns, (100 + 60) / 3); /* not the 30 of the next step */
}

/* Else stalls would be more than the step: those of another step that are known at the same time. */
static void stalls_are_those_of_the_steps_that_were_timed(void **state)
{
    (void)state;
    sl_stalls_step(&core.sampling);
    launch(1000, fetch(1900));
    settle_at(1500);
    launch(1910, fetch(1990));
    sl_stalls_step(&core.sampling);
    launch(2000, fetch(2900));
    settle_at(2950); /* both steps at once */
    assert_int_equal(core.sampling.stalls.step_ns, 0);
    sl_stalls_step(&core.sampling);
    launch(3000, fetch(3010));
    settle_at(3010);
    assert_int_equal(core.sampling.stalls.step_ns, 1000);
    assert_int_equal(core.sampling.stalls.step_stall_ns, 900);
}

/* The first stall of an earlier step ends after that of a later one: its stream is behind. */
static void an_earlier_step_is_no_mark(void **state)
{
    (void)state;
    uint64_t sequence = fetch(900);
    sl_stalls_step(&core.sampling);
    launch_on(&other, 6000, sequence);
    sl_stalls_step(&core.sampling);
    launch(1000, sequence);
    settle_at(5000);
    assert_int_equal(core.sampling.stalls.mark.step, 2);
    settle_at(6000);
    assert_int_equal(core.sampling.stalls.mark.step, 2);
}

static void what_is_not_measured_is_counted(void **state)
{
    (void)state;
    uint64_t sequence = fetch(UINT64_C(1) << 32);
    for (uint64_t i = 0; i < SL_STALLS + 3; i++) launch(1000 + i, sequence);
    assert_int_equal(core.stats.total.unmeasured_stalls, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stall_is_counted_once_when_it_is_over, begin, end),
        cmocka_unit_test_setup_teardown(a_fetch_that_was_there_first_is_no_stall, begin, end),
        cmocka_unit_test_setup_teardown(each_stream_has_its_own_pace, begin, end),
        cmocka_unit_test_setup_teardown(it_belongs_to_the_iteration_of_the_launch, begin, end),
        cmocka_unit_test_setup_teardown(the_trace_is_told_of_the_launch, begin, end),
        cmocka_unit_test_setup_teardown(what_lost_its_event_is_not_measured, begin, end),
        cmocka_unit_test_setup_teardown(more_stalls_than_places, begin, end),
        cmocka_unit_test_setup_teardown(the_device_is_far_behind, begin, end),
        cmocka_unit_test_setup_teardown(a_place_is_one_threads, begin, end),
        cmocka_unit_test_setup_teardown(a_step_is_measured_by_its_stalls, begin, end),
        cmocka_unit_test_setup_teardown(recent_steps_are_remembered, begin, end),
        cmocka_unit_test_setup_teardown(steps_that_end_unseen_are_a_mean, begin, end),
        cmocka_unit_test_setup_teardown(stalls_are_those_of_the_steps_that_were_timed, begin, end),
        cmocka_unit_test_setup_teardown(an_earlier_step_is_no_mark, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_measured_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(without_an_event_it_waits_all_the_same, begin, end),
        cmocka_unit_test_setup_teardown(without_a_record_it_waits_all_the_same, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
