/* Which streams have numbers, and what waits for them: breaks if two streams are taken for one, if a wait is
 * forgotten, or if a fence covers too little. */
#include "move/streams.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "streams_fixture.h"

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
    assert_false(sl_stream_note_join(&streams, first, 0));
    assert_true(sl_stream_note_join(&streams, first, 5));
    assert_false(sl_stream_note_join(&streams, first, 5));
    assert_false(sl_stream_note_join(&streams, first, 4)); /* which came before */
    assert_true(sl_stream_note_join(&streams, second, 5));
    assert_true(sl_stream_note_join(&streams, first, 6));
}

/* Which of those that share a number waited is not known: each does, until the fetch is done. */
static void those_that_share_wait_until_it_is_done(void **state)
{
    (void)state;
    enum sl_status status = SL_OK;
    for (int i = 0; i < 5; i++) sl_link_direction_submitted(&migrator.in, &device.backend, false, &status);
    for (int i = 0; i < 3; i++) assert_true(sl_stream_note_join(&streams, SL_SHARED_STREAM, 5));
    sl_link_direction_set_done(&migrator.in, 5);
    assert_false(sl_stream_note_join(&streams, SL_SHARED_STREAM, 5));
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
