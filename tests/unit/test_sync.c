/* What the program waits for. A free waits for the program's work, but only for work that is not known to be
 * done: breaks if a program that frees much asks the driver each time, or not at all; if what comes during a
 * wait is taken for done; or if what a stream had before its end, or before it captured, is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core_fixture.h"

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"one", 1, offsets, sizes};
static uint64_t memory;

static int start(void **state)
{
    if (core_start(state)) return -1;
    memory = core_take(SL_MIB);
    return 0;
}

static void launch_on(sl_stream stream)
{
    void *parameters[] = {&memory};
    struct sl_launch launch = core_kernel(&kernel, parameters, 1);
    launch.stream = stream;
    core_launch(launch);
}

static void launch(void)
{
    launch_on(NULL);
}

/* How often a wait for the program's work calls the driver. */
static uint64_t calls_to_finish(void)
{
    struct sl_core *core = sl_core_running();
    struct sl_host_books *books = sl_backend_host_books(&core->backend);
    uint64_t before = books->calls;
    sl_runtime_finish();
    return books->calls - before;
}

static void asks_once_for_each_work(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        launch();
        assert_true(calls_to_finish() > 0);
        assert_int_equal(calls_to_finish(), 0);
    }
}

/* The wait of another thread comes before a launch of this one that it has not seen. */
static void a_launch_under_way_is_waited_for(void **state)
{
    (void)state;
    void *parameters[] = {&memory};
    struct sl_launch open = core_kernel(&kernel, parameters, 1);
    sl_runtime_launch_begin(&open);
    assert_true(calls_to_finish() > 0);
    sl_runtime_launch_end(&open, true);
    assert_true(calls_to_finish() > 0);
    assert_int_equal(calls_to_finish(), 0);
}

/* What a stream was given before it began to capture is not waited for. */
static void captures_hide_work(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    launch();
    atomic_fetch_add(&core->streams.captures, 1);
    assert_true(calls_to_finish() > 0);
    atomic_fetch_sub(&core->streams.captures, 1);
    assert_true(calls_to_finish() > 0);
    assert_int_equal(calls_to_finish(), 0);
}

static void what_the_program_waited_for_is_not_waited_for_again(void **state)
{
    (void)state;
    launch();
    struct sl_sync_mark before = sl_runtime_synchronizing();
    assert_int_equal(before.tick, sl_core_running()->history.ticks.now);
    sl_runtime_synchronized(before);
    assert_int_equal(calls_to_finish(), 0);
}

static void what_is_launched_while_the_program_waits_is_not_done(void **state)
{
    (void)state;
    launch();
    struct sl_sync_mark before = sl_runtime_synchronizing();
    launch(); /* of another thread */
    sl_runtime_synchronized(before);
    assert_true(calls_to_finish() > 0);
    assert_int_equal(calls_to_finish(), 0);
}

/* The driver may get it after the wait. */
static void what_has_begun_when_the_program_waits_is_not_known_to_be_done(void **state)
{
    (void)state;
    void *parameters[] = {&memory};
    struct sl_launch open = core_kernel(&kernel, parameters, 1);
    sl_runtime_launch_begin(&open);
    struct sl_sync_mark before = sl_runtime_synchronizing();
    assert_int_equal(before.tick, UINT64_MAX);
    sl_runtime_launch_end(&open, true);
    sl_runtime_synchronized(before);
    assert_true(calls_to_finish() > 0);
    assert_int_equal(calls_to_finish(), 0);
}

/* Frees in the order of a stream: whoever gets the memory in another one waits, until the program has. */
static void what_is_freed_while_the_program_waits_has_not_passed(void **state)
{
    (void)state;
    struct sl_frees *frees = &sl_core_running()->reuse.frees;
    sl_stream stream = (sl_stream)16;
    uint64_t before_wait = core_take(4 * SL_MIB), meanwhile = core_take(4 * SL_MIB);
    launch_on(stream);
    assert_int_equal(sl_runtime_free_async(before_wait, stream, NULL), SL_OK);
    struct sl_sync_mark before = sl_runtime_synchronizing();
    assert_int_equal(sl_runtime_free_async(meanwhile, stream, NULL), SL_OK);
    assert_true(sl_frees_any(frees, before_wait, before_wait + 1, 0));
    sl_runtime_synchronized(before);
    assert_false(sl_frees_any(frees, before_wait, before_wait + 1, 0));
    assert_true(sl_frees_any(frees, meanwhile, meanwhile + 1, 0));
    sl_runtime_synchronized(sl_runtime_synchronizing());
    assert_false(sl_frees_any(frees, meanwhile, meanwhile + 1, 0));
}

static void what_a_destroyed_stream_had_is_waited_for(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    sl_stream stream = (sl_stream)32;
    launch_on(stream);
    sl_runtime_stream_gone(stream);
    assert_int_equal(core->streams.gone.count, 1);
    assert_true(calls_to_finish() > 0);
    assert_int_equal(core->streams.gone.count, 0);
    assert_int_equal(calls_to_finish(), 0);
    launch_on(stream);
    sl_runtime_stream_gone(stream);
    sl_runtime_synchronized(sl_runtime_synchronizing());
    assert_int_equal(core->streams.gone.count, 0);
}

/* The legacy default stream has no end. */
static void no_stream_is_no_streams_end(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    launch();
    uint32_t count = core->streams.count, number = sl_stream_number(&core->streams, NULL);
    sl_runtime_stream_gone(NULL);
    assert_int_equal(core->streams.gone.count, 0);
    assert_int_equal(sl_stream_number(&core->streams, NULL), number);
    assert_int_equal(core->streams.count, count);
    assert_true(calls_to_finish() > 0);
}

static sl_stream capturing, recorded_on[8];
static sl_event_handle recorded[8], waited_for;
static int records, waits;

static struct sl_answer stream_capturing(void *self, sl_stream stream)
{
    (void)self;
    return sl_answer_of(stream == capturing);
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream stream)
{
    (void)self;
    recorded_on[records] = stream;
    recorded[records++] = event;
    return SL_OK;
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    (void)self;
    for (int r = 0; r < records; r++) waits += recorded[r] == event;
    waited_for = event;
    return SL_OK;
}

static void each_stream_is_waited_for_behind_its_work(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    struct sl_backend kept = core->backend;
    sl_stream streams[] = {(sl_stream)64, (sl_stream)80};
    for (int s = 0; s < 2; s++) launch_on(streams[s]);
    core->backend.event_record = event_record; /* nothing else: the daemon's threads look at the others */
    core->backend.event_wait = event_wait;
    records = waits = 0;
    sl_runtime_finish();
    core->backend.event_record = kept.event_record;
    core->backend.event_wait = kept.event_wait;
    assert_int_equal(records, 2);
    assert_true((recorded_on[0] == streams[0] && recorded_on[1] == streams[1]) ||
                (recorded_on[0] == streams[1] && recorded_on[1] == streams[0]));
    assert_int_equal(waits, 2);
}

/* No event can be recorded on it then; what it was given before is waited for all the same. */
static void what_a_stream_had_before_it_captured_is_waited_for(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    struct sl_backend kept = core->backend;
    core->backend.stream_capturing = stream_capturing;
    core->backend.event_wait = event_wait;
    sl_stream stream = (sl_stream)48;
    launch_on(stream);
    sl_runtime_capture(1);
    sl_runtime_capture_may_begin(stream);
    capturing = stream;
    sl_runtime_finish();
    assert_non_null(waited_for);
    assert_ptr_equal(waited_for, core->streams.before_capture[sl_stream_number(&core->streams, stream)]);
    capturing = NULL;
    sl_runtime_capture(-1);
    core->backend.stream_capturing = kept.stream_capturing;
    core->backend.event_wait = kept.event_wait;
    assert_true(calls_to_finish() > 0);
}

static void a_context_is_quiet_until_it_gets_work_and_again_when_that_was_waited_for(void **state)
{
    (void)state;
    sl_runtime_synchronized(sl_runtime_synchronizing());
    assert_true(sl_runtime_is_quiet());
    launch();
    assert_false(sl_runtime_is_quiet());
    struct sl_sync_mark before = sl_runtime_synchronizing();
    assert_false(sl_runtime_is_quiet());
    sl_runtime_synchronized(before);
    assert_true(sl_runtime_is_quiet());
}

/* Before the start and after the stop. */
static void without_a_core_there_is_nothing_to_wait_for(void **state)
{
    (void)state;
    assert_false(sl_runtime_running());
    assert_false(sl_runtime_is_quiet());
    struct sl_sync_mark mark = sl_runtime_synchronizing();
    assert_int_equal(mark.tick, 0);
    assert_int_equal(mark.frees, 0);
    sl_runtime_synchronized(mark);
    sl_runtime_finish();
    sl_runtime_waited();
    sl_runtime_stream_gone((sl_stream)16);
    sl_runtime_capture_may_begin((sl_stream)16);
}

int main(void)
{
    const struct CMUnitTest without[] = {cmocka_unit_test(without_a_core_there_is_nothing_to_wait_for)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_once_for_each_work),
        cmocka_unit_test(a_launch_under_way_is_waited_for),
        cmocka_unit_test(captures_hide_work),
        cmocka_unit_test(what_the_program_waited_for_is_not_waited_for_again),
        cmocka_unit_test(what_is_launched_while_the_program_waits_is_not_done),
        cmocka_unit_test(what_has_begun_when_the_program_waits_is_not_known_to_be_done),
        cmocka_unit_test(what_is_freed_while_the_program_waits_has_not_passed),
        cmocka_unit_test(what_a_destroyed_stream_had_is_waited_for),
        cmocka_unit_test(no_stream_is_no_streams_end),
        cmocka_unit_test(each_stream_is_waited_for_behind_its_work),
        cmocka_unit_test(what_a_stream_had_before_it_captured_is_waited_for),
        cmocka_unit_test(a_context_is_quiet_until_it_gets_work_and_again_when_that_was_waited_for),
    };
    return cmocka_run_group_tests_name("before the start", without, NULL, NULL) ||
           cmocka_run_group_tests(tests, start, core_stop) ||
           cmocka_run_group_tests_name("after the stop", without, NULL, NULL);
}
