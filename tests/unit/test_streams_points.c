/* What is recorded on streams: breaks if work that a stream was given is forgotten, or if something is
 * recorded in a capture. */
#include "move/streams.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "streams_fixture.h"

/* --- points --- */

/* How many points are recorded, and that there are none on others than these. */
static uint32_t record_points(const sl_stream *on, uint32_t count)
{
    struct sl_waits waits = {0};
    struct sl_points *points = sl_streams_points(&streams);
    if (!points) return 0;
    sl_points_give(&frees, points, &waits);
    uint32_t recorded = waits.count;
    for (uint32_t w = 0; w < waits.count; w++) {
        uint32_t i = 0;
        while (i < count && noted_event(waits.at[w].event)->stream != on[i]) i++;
        assert_true(i < count);
    }
    sl_waits_end(&waits, &frees);
    return recorded;
}

static void points_lie_behind_all_that_have_work(void **state)
{
    (void)state;
    assert_null(sl_streams_points(&streams));
    use(&handles[0]);
    use(&handles[1]);
    assert_int_equal(record_points((const sl_stream[]){&handles[0], &handles[1]}, 2), 2);
    streams.active = 1;
    assert_int_equal(record_points((const sl_stream[]){&handles[0]}, 1), 1);
}

/* Nobody can name another thread's default stream; the legacy stream waits for it. Those that share a number
 * have a point each. */
static void points_stand_for_streams_without_a_name_or_number(void **state)
{
    (void)state;
    sl_stream shared[MANY - SL_SHARED_STREAM];
    use_in_another_thread();
    assert_int_equal(record_points((const sl_stream[]){NULL}, 1), 1);
    for (uint32_t i = 1; i < SL_SHARED_STREAM; i++) use(&handles[i]);
    for (uint32_t i = SL_SHARED_STREAM; i < MANY; i++) {
        use(&handles[i]);
        shared[i - SL_SHARED_STREAM] = &handles[i];
    }
    streams.active = (uint64_t)1 << SL_SHARED_STREAM;
    assert_int_equal(record_points(shared, MANY - SL_SHARED_STREAM), MANY - SL_SHARED_STREAM);
}

/* What a stream was given before it was destroyed goes on, and so does what lies in front of a capture. */
static void what_was_given_before_is_waited_for(void **state)
{
    (void)state;
    use(&handles[0]);
    use(&handles[1]);
    use(&handles[2]);
    sl_stream_gone(&streams, &handles[0]);
    const struct noted_event *left = device.last;
    assert_ptr_equal(left->stream, &handles[0]);
    sl_stream_may_capture(&streams, &handles[1]);
    const struct noted_event *before = device.last;
    assert_ptr_equal(before->stream, &handles[1]);
    atomic_store(&streams.captures, 1);
    device.capturing = &handles[1];
    assert_int_equal(record_points((const sl_stream[]){&handles[2]}, 1), 1);
    assert_int_equal(noted_host_waits(&device, (void *)left), 1);
    assert_int_equal(noted_host_waits(&device, (void *)before), 1);
    device.wait_count = 0; /* and once is enough */
    assert_int_equal(record_points((const sl_stream[]){&handles[2]}, 1), 1);
    assert_int_equal(noted_host_waits(&device, (void *)before), 1);
    assert_int_equal(device.wait_count, 1);
}

static enum sl_status (*note_host_wait)(void *, sl_event_handle);
static uint32_t others_waits; /* of the host, by another thread's free */

static void *record_in_between(void *unused)
{
    uint32_t before = device.wait_count;
    record_points((const sl_stream[]){&handles[1]}, 1);
    others_waits = device.wait_count - before;
    return unused;
}

/* The work of a destroyed stream is done only when this returns; another thread frees before that. */
static enum sl_status another_frees_meanwhile(void *self, sl_event_handle event)
{
    pthread_t thread;
    device.backend.event_wait = note_host_wait;
    assert_int_equal(pthread_create(&thread, NULL, record_in_between, NULL), 0);
    pthread_join(thread, NULL);
    return note_host_wait(self, event);
}

/* Memory that another thread frees could be given out again while that work still writes to it. */
static void what_is_waited_for_is_waited_for_by_others_too(void **state)
{
    (void)state;
    use(&handles[0]);
    use(&handles[1]);
    sl_stream_gone(&streams, &handles[0]);
    note_host_wait = device.backend.event_wait;
    device.backend.event_wait = another_frees_meanwhile;
    record_points((const sl_stream[]){&handles[1]}, 1);
    assert_int_equal(others_waits, 1);
    uint32_t before = device.wait_count;
    record_points((const sl_stream[]){&handles[1]}, 1);
    assert_int_equal(device.wait_count, before); /* it is done */
}

static int interruptions;

static void interrupt_twice(void)
{
    if (interruptions++ < 2) atomic_fetch_add(&streams.capture_ends, 1);
}

/* Points that may be a capture's are no points: others are recorded. */
static void points_are_recorded_until_they_are_plain(void **state)
{
    (void)state;
    use(&handles[0]);
    interruptions = 0;
    device.recording = interrupt_twice;
    assert_int_equal(record_points((const sl_stream[]){&handles[0]}, 1), 1);
    assert_int_equal(interruptions, 3);
}

/* --- captures --- */

static _Atomic bool begun;

static void *begin_capture(void *unused)
{
    sl_streams_capture_begins(&streams);
    atomic_store(&begun, true);
    sl_streams_capture_begun(&streams);
    return unused;
}

static pthread_t beginner;
static bool begun_meanwhile;

static void begin_while_recording(void)
{
    uint32_t epoch = atomic_load(&frees.epoch);
    device.recording = NULL;
    assert_int_equal(pthread_create(&beginner, NULL, begin_capture, NULL), 0);
    while (atomic_load(&frees.epoch) == epoch && !atomic_load(&begun)) sched_yield();
    begun_meanwhile = atomic_load(&begun);
}

/* What is recorded or waited for would fall into the capture. */
static void no_capture_begins_while_another_thread_records(void **state)
{
    (void)state;
    use(&handles[0]);
    device.recording = begin_while_recording;
    record_points((const sl_stream[]){&handles[0]}, 1);
    pthread_join(beginner, NULL);
    assert_false(begun_meanwhile);
    assert_true(begun);
    assert_int_equal(record_points((const sl_stream[]){&handles[0]}, 1), 1);
}

/* Only what has work needs an event in front of its capture. */
static void a_capture_hides_only_work(void **state)
{
    (void)state;
    sl_stream_may_capture(&streams, &handles[0]);
    assert_int_equal(device.records, 0);
    use(&handles[0]);
    sl_stream_may_capture(&streams, &handles[0]);
    assert_int_equal(device.records, 1);
    device.capturing = &handles[0]; /* it does already: nothing may be recorded there */
    sl_stream_may_capture(&streams, &handles[0]);
    assert_int_equal(device.records, 1);
}

static void without_an_event_the_host_waits(void **state)
{
    (void)state;
    use(&handles[0]);
    device.events_left = 0;
    sl_stream_may_capture(&streams, &handles[0]);
    assert_ptr_equal(device.finished, &handles[0]);
    for (uint32_t i = 1; i < MANY; i++) use(&handles[i]);
    sl_stream_may_capture(&streams, &handles[MANY - 1]); /* shares a number */
    assert_ptr_equal(device.finished, &handles[MANY - 1]);
}

/* One that captures when it is destroyed: nothing can be recorded on it. */
static void a_capturing_stream_that_is_gone_is_waited_for(void **state)
{
    (void)state;
    use(&handles[0]);
    sl_stream_may_capture(&streams, &handles[0]);
    const struct noted_event *before = device.last;
    device.capturing = &handles[0];
    sl_stream_gone(&streams, &handles[0]);
    assert_int_equal(noted_host_waits(&device, (void *)before), 1);
    assert_int_equal(device.records, 1);
    assert_int_equal(streams.gone.count, 0);
}

/* A stream that the core never saw, or that has no work, leaves nothing. */
static void a_stream_without_work_leaves_nothing(void **state)
{
    (void)state;
    sl_stream_gone(&streams, &handles[3]);
    sl_stream_number(&streams, &handles[0]);
    sl_stream_gone(&streams, &handles[0]);
    assert_int_equal(device.records, 0);
    assert_int_equal(streams.gone.count, 0);
}

/* A program that makes streams all the time must not fill memory with what they left. */
static void what_many_left_is_forgotten_when_it_is_done(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        use(&handles[0]);
        sl_stream_gone(&streams, &handles[0]);
        device.last->done = true;
        streams.active = 0;
    }
    assert_in_range(streams.gone.count, 1, 256);
}

/* --- a driver that does not answer --- */

static bool are_unsure(void)
{
    struct sl_points *points = sl_streams_points(&streams);
    bool unsure = sl_points_are_unsure(points);
    sl_points_void(&frees, points);
    return unsure;
}

/* Not known to capture is not known to take an event; and no thread asks for ever. */
static void where_nobody_says_whether_it_captures_nothing_is_known(void **state)
{
    (void)state;
    use(&handles[0]);
    atomic_store(&streams.captures, 1);
    device.says_nothing = true;
    uint64_t before = device.records;
    assert_true(are_unsure());
    assert_int_equal(device.records, before);
    device.says_nothing = false;
    assert_false(are_unsure());
}

/* Every third question is refused: with three streams each try would fail. */
static int asked;
static struct sl_answer says_it_now_and_then(void *self, sl_stream stream)
{
    (void)self, (void)stream;
    return asked++ % 3 == 2 && asked < 20 ? sl_no_answer() : sl_answer_of(false);
}

static void it_is_asked_again(void **state)
{
    (void)state;
    for (int s = 0; s < 3; s++) use(&handles[s]);
    atomic_store(&streams.captures, 1);
    asked = 0;
    device.backend.stream_capturing = says_it_now_and_then;
    assert_false(are_unsure());
}

/* What could neither be recorded nor waited for in front of a capture is unknown while the stream captures.
 */
static void work_in_front_of_a_capture_is_known_or_not(void **state)
{
    (void)state;
    use(&handles[0]);
    device.refuses_records = device.refuses_finishing = true;
    sl_stream_may_capture(&streams, &handles[0]);
    device.refuses_records = device.refuses_finishing = false;
    atomic_store(&streams.captures, 1);
    device.capturing = &handles[0];
    assert_true(are_unsure());
    device.capturing = NULL; /* then its last event covers everything */
    assert_false(are_unsure());
    sl_stream_may_capture(&streams, &handles[0]);
    device.capturing = &handles[0];
    assert_false(are_unsure());
}

/* The work of a destroyed stream has no handle by which it could be asked for later. */
static void what_a_destroyed_stream_left_is_known_or_not(void **state)
{
    (void)state;
    use(&handles[0]);
    device.refuses_records = device.refuses_finishing = true;
    sl_stream_gone(&streams, &handles[0]);
    device.refuses_records = device.refuses_finishing = false;
    assert_true(sl_streams_any_work(&streams));
    assert_true(are_unsure());
    assert_true(are_unsure());
    sl_streams_are_idle(&streams);
    assert_false(are_unsure());
}

/* A host that cannot wait now can wait later. */
static void what_was_left_is_waited_for_again(void **state)
{
    (void)state;
    use(&handles[0]);
    use(&handles[1]);
    sl_stream_gone(&streams, &handles[0]);
    device.refuses_waits = device.says_nothing = true;
    assert_true(are_unsure());
    device.refuses_waits = device.says_nothing = false;
    assert_false(are_unsure());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(points_lie_behind_all_that_have_work, start, stop),
        cmocka_unit_test_setup_teardown(points_stand_for_streams_without_a_name_or_number, start, stop),
        cmocka_unit_test_setup_teardown(what_was_given_before_is_waited_for, start, stop),
        cmocka_unit_test_setup_teardown(what_is_waited_for_is_waited_for_by_others_too, start, stop),
        cmocka_unit_test_setup_teardown(points_are_recorded_until_they_are_plain, start, stop),
        cmocka_unit_test_setup_teardown(no_capture_begins_while_another_thread_records, start, stop),
        cmocka_unit_test_setup_teardown(a_capture_hides_only_work, start, stop),
        cmocka_unit_test_setup_teardown(without_an_event_the_host_waits, start, stop),
        cmocka_unit_test_setup_teardown(a_capturing_stream_that_is_gone_is_waited_for, start, stop),
        cmocka_unit_test_setup_teardown(a_stream_without_work_leaves_nothing, start, stop),
        cmocka_unit_test_setup_teardown(what_many_left_is_forgotten_when_it_is_done, start, stop),
        cmocka_unit_test_setup_teardown(where_nobody_says_whether_it_captures_nothing_is_known, start, stop),
        cmocka_unit_test_setup_teardown(it_is_asked_again, start, stop),
        cmocka_unit_test_setup_teardown(work_in_front_of_a_capture_is_known_or_not, start, stop),
        cmocka_unit_test_setup_teardown(what_a_destroyed_stream_left_is_known_or_not, start, stop),
        cmocka_unit_test_setup_teardown(what_was_left_is_waited_for_again, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
