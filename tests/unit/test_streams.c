/* Which streams have numbers, and what is recorded on them: breaks if two streams are taken for one, if work
 * that a stream was given is forgotten, or if something is recorded in a capture. */
#include "move/streams.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "noted_device.h"

enum { MANY = SL_SHARED_STREAM + 5 };

static struct noted_device device;
static struct sl_lock order = SL_LOCK_INITIALIZER(SL_LOCK_ORDER);
static struct sl_migrator migrator;
static struct sl_frees frees;
static struct sl_streams streams;
static struct sl_fence fence;
static int handles[MANY]; /* their addresses are streams */

static int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    streams = (struct sl_streams){.order = &order, .migrator = &migrator, .frees = &frees};
    fence = (struct sl_fence){0};
    return sl_migrator_init(&migrator, &device.backend, NULL, NULL, &streams.captures) ||
                   sl_frees_init(&frees, &device.backend)
               ? -1
               : 0;
}

static int stop(void **state)
{
    (void)state;
    for (int s = 0; s < SL_SHARED_STREAM; s++)
        if (streams.before_capture[s]) device.backend.event_delete(&device, streams.before_capture[s]);
    for (int s = 0; s < SL_STREAMS; s++)
        if (fence.events[s]) device.backend.event_delete(&device, fence.events[s]);
    sl_waits_end(&streams.gone, &frees);
    free(streams.more);
    sl_frees_close(&frees, false);
    sl_migrator_close(&migrator, false);
    return device.made == device.deleted ? 0 : -1;
}

/* As a launch on the stream does. Its number. */
static uint32_t use(sl_stream stream)
{
    uint32_t s = sl_stream_number(&streams, stream);
    sl_stream_is_used(&streams, s);
    return s;
}

static void *number_of_thread(void *number)
{
    *(uint32_t *)number = use(SL_STREAM_PER_THREAD);
    return NULL;
}

/* The number of another thread's default stream. */
static uint32_t use_in_another_thread(void)
{
    pthread_t thread;
    uint32_t number = SL_NONE;
    assert_int_equal(pthread_create(&thread, NULL, number_of_thread, &number), 0);
    pthread_join(thread, NULL);
    return number;
}

/* --- numbers --- */

static void each_stream_has_a_number_of_its_own(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SL_SHARED_STREAM; i++) assert_int_equal(use(&handles[i]), i);
    for (uint32_t i = 0; i < SL_SHARED_STREAM; i++) {
        assert_int_equal(sl_stream_number(&streams, &handles[i]), i);
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(sl_stream_serial(&streams, i), sl_stream_serial(&streams, j));
        assert_int_not_equal(sl_stream_serial(&streams, i), 0);
    }
}

static void those_that_find_none_share_one(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SL_SHARED_STREAM; i++) use(&handles[i]);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = SL_SHARED_STREAM; i < MANY; i++)
            assert_int_equal(use(&handles[i]), SL_SHARED_STREAM);
    assert_int_equal(sl_stream_serial(&streams, SL_SHARED_STREAM), 0);
    assert_int_equal(streams.more_count, MANY - SL_SHARED_STREAM);
}

static void each_thread_has_a_default_stream(void **state)
{
    (void)state;
    uint32_t mine = use(SL_STREAM_PER_THREAD), legacy = use(NULL);
    uint32_t theirs = use_in_another_thread(), others = use_in_another_thread();
    assert_true(theirs != mine && others != theirs && others != mine && legacy != mine);
    assert_int_equal(sl_stream_number(&streams, SL_STREAM_PER_THREAD), mine);
}

/* A number changes hands only when the program waited for what its stream was given; the driver may give the
 * handle to another stream at once. */
static void a_stream_that_is_gone_leaves_its_number(void **state)
{
    (void)state;
    uint32_t first = use(&handles[0]), second = use(&handles[1]);
    uint64_t serial = sl_stream_serial(&streams, first);
    sl_stream_gone(&streams, &handles[0]);
    uint32_t third = use(&handles[0]);
    assert_true(third != first && third != second);
    streams.active &= ~((uint64_t)1 << first); /* it was waited for */
    assert_int_equal(use(&handles[2]), first);
    assert_int_not_equal(sl_stream_serial(&streams, first), serial);
}

static void a_shared_one_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) use(&handles[i]);
    sl_stream_gone(&streams, &handles[SL_SHARED_STREAM + 1]);
    assert_int_equal(streams.more_count, MANY - SL_SHARED_STREAM - 1);
    for (uint32_t i = 0; i < streams.more_count; i++)
        assert_ptr_not_equal(streams.more[i], &handles[SL_SHARED_STREAM + 1]);
}

/* --- fetches --- */

static void a_stream_waits_for_a_fetch_once(void **state)
{
    (void)state;
    uint32_t first = use(&handles[0]), second = use(&handles[1]);
    assert_false(sl_stream_must_join(&streams, first, 0));
    assert_true(sl_stream_must_join(&streams, first, 5));
    assert_false(sl_stream_must_join(&streams, first, 5));
    assert_false(sl_stream_must_join(&streams, first, 4)); /* which came before */
    assert_true(sl_stream_must_join(&streams, second, 5));
    assert_true(sl_stream_must_join(&streams, first, 6));
}

/* Which of those that share a number waited is not known: each does, until the fetch is done. */
static void those_that_share_wait_until_it_is_done(void **state)
{
    (void)state;
    atomic_store(&migrator.in.issued, 5);
    for (int i = 0; i < 3; i++) assert_true(sl_stream_must_join(&streams, SL_SHARED_STREAM, 5));
    sl_link_direction_set_done(&migrator.in, 5);
    assert_false(sl_stream_must_join(&streams, SL_SHARED_STREAM, 5));
}

/* --- fences --- */

static uint64_t record_fence(uint64_t numbers)
{
    struct sl_fence_stream list[SL_STREAMS];
    uint32_t count = sl_streams_to_fence(&streams, numbers, list);
    sl_fence_record(&streams, &fence, list, count);
    return atomic_load(&fence.streams);
}

static void a_fence_lies_behind_the_streams_asked_for(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5; i++) use(&handles[i]);
    assert_int_equal(record_fence(0x15), 0x15);
    assert_int_equal(device.records, 3);
    for (uint32_t i = 0; i < 5; i += 2) assert_ptr_equal(noted_event(fence.events[i])->stream, &handles[i]);
    uint64_t made = device.made;
    assert_int_equal(record_fence(0x15), 0x15);
    assert_int_equal(device.made, made);      /* events serve again */
    assert_int_equal(record_fence(0x2), 0x2); /* and the others count no more */
}

/* An event there would cover something else, or not all of it. */
static void where_nothing_can_be_recorded_there_is_no_fence(void **state)
{
    (void)state;
    uint32_t theirs = use_in_another_thread(), gone = use(&handles[0]), capturing = use(&handles[1]),
             mine = use(SL_STREAM_PER_THREAD);
    use(&handles[2]);
    sl_stream_gone(&streams, &handles[0]);
    atomic_store(&streams.captures, 1);
    device.capturing = &handles[1];
    uint64_t all = streams.active | (uint64_t)1 << SL_SHARED_STREAM;
    uint64_t fit = streams.active & ~((uint64_t)1 << theirs | (uint64_t)1 << gone | (uint64_t)1 << capturing);
    assert_int_equal(record_fence(all), fit);
    assert_true(fit >> mine & 1);
    assert_null(fence.events[capturing]); /* nor is any recorded there */
    atomic_store(&migrator.held, 1);      /* a movement would wait for the program */
    struct sl_fence_stream list[SL_STREAMS];
    assert_int_equal(sl_streams_to_fence(&streams, all, list), 0);
}

static void begin_capture_meanwhile(void)
{
    atomic_store(&streams.captures, 1);
    device.capturing = &handles[0];
}

static void end_capture_meanwhile(void)
{
    atomic_fetch_add(&streams.capture_ends, 1);
}

static void hold_up_meanwhile(void)
{
    atomic_store(&migrator.held, 1);
}

/* Another thread may begin a capture, end one, or hold the stream up, while the event is recorded: it may be
 * the capture's, or lie behind what holds the stream up. */
static void what_comes_between_voids_the_fence(void **state)
{
    (void)state;
    use(&handles[0]);
    device.recording = begin_capture_meanwhile;
    assert_int_equal(record_fence(1), 0);
    device.capturing = NULL;
    device.recording = end_capture_meanwhile;
    assert_int_equal(record_fence(1), 0);
    device.recording = hold_up_meanwhile;
    assert_int_equal(record_fence(1), 0);
    device.recording = NULL;
    atomic_store(&migrator.held, 0);
    assert_int_equal(record_fence(1), 1);
    device.refuses_records = true;
    assert_int_equal(record_fence(1), 0);
}

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
        cmocka_unit_test_setup_teardown(each_stream_has_a_number_of_its_own, start, stop),
        cmocka_unit_test_setup_teardown(those_that_find_none_share_one, start, stop),
        cmocka_unit_test_setup_teardown(each_thread_has_a_default_stream, start, stop),
        cmocka_unit_test_setup_teardown(a_stream_that_is_gone_leaves_its_number, start, stop),
        cmocka_unit_test_setup_teardown(a_shared_one_that_is_gone_is_forgotten, start, stop),
        cmocka_unit_test_setup_teardown(a_stream_waits_for_a_fetch_once, start, stop),
        cmocka_unit_test_setup_teardown(those_that_share_wait_until_it_is_done, start, stop),
        cmocka_unit_test_setup_teardown(a_fence_lies_behind_the_streams_asked_for, start, stop),
        cmocka_unit_test_setup_teardown(where_nothing_can_be_recorded_there_is_no_fence, start, stop),
        cmocka_unit_test_setup_teardown(what_comes_between_voids_the_fence, start, stop),
        cmocka_unit_test_setup_teardown(points_lie_behind_all_that_have_work, start, stop),
        cmocka_unit_test_setup_teardown(points_stand_for_streams_without_a_name_or_number, start, stop),
        cmocka_unit_test_setup_teardown(what_was_given_before_is_waited_for, start, stop),
        cmocka_unit_test_setup_teardown(what_is_waited_for_is_waited_for_by_others_too, start, stop),
        cmocka_unit_test_setup_teardown(points_are_recorded_until_they_are_plain, start, stop),
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
