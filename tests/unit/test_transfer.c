/* When movements ran: breaks if a time is read before it is known, if movements are timed that nobody asked
 * for, or if what did not go over the link counts for its speed. */
#include "move/transfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device_clock.h"
#include "noted_device.h"
#include "trace/trace_write.h"
#include "trace_file.h"

#define MS UINT64_C(1000000)

static struct noted_device device;
static struct sl_device_clock *device_clock;
static struct sl_link_lane lane;
static struct sl_transfers *transfers;
static int stream; /* its address is one */

static void begin_device(void)
{
    noted_device_begin(&device);
    device.now_ns = 1000 * MS;
    device_clock = sl_device_clock_new(&device.backend, &stream);
    assert_non_null(device_clock);
    lane = (struct sl_link_lane){0};
}

static int start(void **state)
{
    (void)state;
    begin_device();
    transfers = sl_transfers_new(&device.backend, device_clock, NULL, &lane, &stream);
    return transfers ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sl_transfers_delete(transfers, false);
    sl_device_clock_delete(device_clock, false);
    return device.deleted == device.made ? 0 : -1;
}

/* A movement that takes so long on the device, of which nothing is done yet. Its end, or NULL: not timed. */
static struct noted_event *move(uint64_t bytes, uint64_t ns, bool whole)
{
    struct sl_event record = {.type = SL_EVENT_MOVE, .id = 7, .tick = 9, .a = bytes};
    if (!sl_transfers_begin(transfers)) return NULL;
    assert_ptr_equal(device.last->stream, &stream);
    device.now_ns += ns;
    sl_transfers_end(transfers, &record, whole);
    return device.last;
}

static void move_done(uint64_t bytes, uint64_t ns, bool whole)
{
    struct noted_event *end = move(bytes, ns, whole);
    assert_non_null(end);
    end->done = true;
}

static void without_a_trace_some_are_timed_when_asked_for(void **state)
{
    (void)state;
    assert_null(move(1, MS, true));
    for (int round = 0; round < 3; round++) {
        sl_transfers_time_some(transfers);
        for (int i = 0; i < SL_LINK_SPANS; i++) {
            move_done(1, MS, true);
            sl_transfers_settle(transfers);
        }
        assert_null(move(1, MS, true));
    }
    assert_int_equal(lane.count, 3 * SL_LINK_SPANS);
}

/* Those in front of one that is under way are read, and those behind it are not. */
static void what_is_not_done_is_not_read(void **state)
{
    (void)state;
    assert_true(sl_transfers_settled(transfers));
    sl_transfers_time_some(transfers);
    move_done(1, MS, true);
    struct noted_event *second = move(2, MS, true);
    move_done(3, MS, true);
    sl_transfers_settle(transfers);
    assert_int_equal(lane.count, 1);
    assert_false(sl_transfers_settled(transfers));
    second->done = true;
    sl_transfers_settle(transfers);
    assert_true(sl_transfers_settled(transfers));
    assert_int_equal(lane.count, 3);
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(lane.spans[i].bytes, i + 1);
}

static void times_are_those_of_the_device(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    move_done(100, 5 * MS, true);
    device.now_ns += 3 * MS;
    move_done(200, 7 * MS, true);
    sl_transfers_settle(transfers);
    const struct sl_link_span *first = &lane.spans[0], *second = &lane.spans[1];
    assert_int_equal(first->end_ns - first->begin_ns, 5 * MS);
    assert_int_equal(second->end_ns - second->begin_ns, 7 * MS);
    assert_int_equal(second->begin_ns - first->end_ns, 3 * MS);
}

/* When the clock is tied anew it may have been ahead of the host's: by ten days here. */
static void times_do_not_go_back(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    move_done(100, 864000000 * MS, true);
    sl_transfers_settle(transfers);
    sl_device_clock_anchor(device_clock, &stream, true);
    device.last->done = true;
    move_done(200, 7 * MS, true);
    sl_transfers_settle(transfers);
    assert_int_equal(lane.spans[1].begin_ns, lane.spans[0].end_ns);
    assert_int_equal(lane.spans[1].end_ns - lane.spans[1].begin_ns, 7 * MS);
}

/* What came in part, or took no time, was not all carried by the link. */
static void only_what_went_over_the_link_counts(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    for (int i = 0; i < SL_LINK_TRANSFERS; i++) move_done(1000, MS, false);
    for (int i = 0; i < SL_LINK_TRANSFERS; i++) move_done(1000, 0, true);
    sl_transfers_settle(transfers);
    assert_true(sl_transfers_settled(transfers));
    assert_int_equal(lane.count, 0);
    for (int i = 0; i < SL_LINK_TRANSFERS - 1; i++) move_done(1000, MS, true);
    sl_transfers_settle(transfers);
    assert_int_equal(sl_transfers_speed(transfers), 0); /* one too few */
}

/* One movement that was fast by chance, or slow, does not make the link so. */
static void the_speed_is_what_half_of_some_in_a_row_reached(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    for (int i = 0; i < SL_LINK_TRANSFERS - 1; i++) move_done(2000, i == 3 ? 1000 : MS, true);
    sl_transfers_settle(transfers);
    assert_int_equal(sl_transfers_speed(transfers), 0);
    move_done(2000, MS, true);
    sl_transfers_settle(transfers);
    assert_int_equal(sl_transfers_speed(transfers), 2000000);
    for (int i = 0; i < SL_LINK_TRANSFERS; i++) move_done(2000, MS / 4, true);
    for (int i = 0; i < SL_LINK_TRANSFERS; i++) move_done(2000, 2 * MS, true);
    sl_transfers_settle(transfers);
    assert_int_equal(sl_transfers_speed(transfers), 8000000); /* the best so far */
    assert_int_equal(sl_transfers_speed(NULL), 0);
}

/* One that the driver refused has a beginning and no end. */
static void a_refused_movement_is_left_out(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    assert_true(sl_transfers_begin(transfers));
    device.now_ns += 50 * MS;
    move_done(10, MS, true);
    sl_transfers_settle(transfers);
    assert_int_equal(lane.count, 1);
    assert_int_equal(lane.spans[0].end_ns - lane.spans[0].begin_ns, MS);
}

static void where_events_cannot_be_had_nothing_is_timed(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    device.events_left = 0;
    assert_false(sl_transfers_begin(transfers));
    device.events_left = 1; /* a beginning, and no end */
    move(1, MS, true);
    assert_true(sl_transfers_settled(transfers));
    device.events_left = UINT64_MAX;
    move_done(1, MS, true);
    sl_transfers_settle(transfers);
    assert_int_equal(lane.count, 1);
}

/* With a trace each movement is recorded, with its own record, and times that do not overlap. */
static void a_trace_has_each(void **state)
{
    (void)state;
    enum { MOVES = 3 * SL_LINK_SPANS };
    char path[] = "/tmp/sluice-transfer-XXXXXX";
    struct sl_trace *trace = NULL;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(sl_trace_open(path, &(struct sl_trace_options){.full = SL_TRACE_WAIT}, &trace), SL_OK);
    begin_device();
    transfers = sl_transfers_new(&device.backend, device_clock, trace, &lane, &stream);
    sl_transfers_time_some(transfers); /* which changes nothing */
    for (uint64_t i = 0; i < MOVES; i++) move_done(1 + i, MS, i % 2);
    sl_transfers_settle(transfers);
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    unlink(path);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, MOVES);
    for (uint64_t i = 0; i < MOVES; i++) {
        const struct sl_event *record = &content.records[i].event;
        assert_int_equal(record->type, SL_EVENT_TRANSFER);
        assert_true(record->id == 7 && record->tick == 9 && record->a == 1 + i && record->c == MS);
        if (i) assert_int_equal(record->b, content.records[i - 1].event.b + MS);
    }
    assert_int_equal(lane.count, MOVES / 2);
    trace_content_free(&content);
}

/* A movement between two events that have passed, as a mover notes it when it is over. */
static void note_move(uint64_t begin_ns, uint64_t ns, uint64_t bytes, bool whole)
{
    struct sl_event record = {.type = SL_EVENT_MOVE, .a = bytes};
    struct noted_event begin = {.time_ns = begin_ns, .timed = true, .done = true}, end = begin;
    end.time_ns += ns;
    sl_transfers_note(transfers, &begin, &end, &record, whole);
}

static void a_mover_times_some_when_asked_for(void **state)
{
    (void)state;
    assert_false(sl_transfers_want(transfers));
    for (int round = 0; round < 3; round++) {
        sl_transfers_time_some(transfers);
        for (uint64_t i = 0; i < SL_LINK_SPANS; i++) {
            assert_true(sl_transfers_want(transfers));
            note_move(2000 * MS + i * MS, MS, 1 + i, true);
            assert_true(sl_transfers_settled(transfers)); /* nothing is left to read */
        }
        assert_false(sl_transfers_want(transfers));
        assert_null(move(1, MS, true));
    }
    assert_int_equal(lane.count, 3 * SL_LINK_SPANS);
    note_move(9000 * MS, MS, 1, true); /* one of several that were wanted at the same time */
    assert_false(sl_transfers_want(transfers));
    sl_transfers_time_some(transfers);
    note_move(9000 * MS, MS, 1, false);
    note_move(9000 * MS, 0, 1, true);
    assert_int_equal(lane.count, 3 * SL_LINK_SPANS + 1);
}

/* Those that are enqueued and those of movers are as many together. */
static void both_kinds_are_timed_in_turn(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    for (uint64_t i = 0; i < SL_LINK_SPANS / 2; i++) {
        note_move(2000 * MS + i * MS, MS, 1, true);
        move_done(1, MS, true);
        sl_transfers_settle(transfers);
    }
    assert_int_equal(lane.count, SL_LINK_SPANS);
    assert_false(sl_transfers_want(transfers));
    assert_null(move(1, MS, true));
}

/* They end in any order, and their times are their own. */
static void movements_of_movers_overlap(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    note_move(2000 * MS, 9 * MS, 1, true);
    note_move(2001 * MS, 2 * MS, 1, true);
    note_move(1999 * MS, 3 * MS, 1, true);
    assert_int_equal(lane.spans[1].begin_ns - lane.spans[0].begin_ns, MS);
    assert_int_equal(lane.spans[0].begin_ns - lane.spans[2].begin_ns, MS);
    assert_int_equal(lane.spans[0].end_ns - lane.spans[0].begin_ns, 9 * MS);
    assert_int_equal(lane.spans[1].end_ns - lane.spans[1].begin_ns, 2 * MS);
    assert_int_equal(lane.spans[2].end_ns - lane.spans[2].begin_ns, 3 * MS);
}

/* Those that are not read in time are many, and the newest ones go untimed. */
static void as_many_as_there_is_room_for_are_under_way(void **state)
{
    (void)state;
    sl_transfers_time_some(transfers);
    struct noted_event *first = move(1, MS, true);
    for (int i = 1; i < SL_LINK_SPANS; i++) assert_non_null(move(1, MS, true));
    sl_transfers_time_some(transfers);
    assert_null(move(1, MS, true));
    first->done = true;
    sl_transfers_settle(transfers);
    assert_non_null(move(1, MS, true));
    assert_null(move(1, MS, true));
}

/* --- How fast the link is said to be, alone and with both directions at work. */

#define ASSUMED 123u

/* `count` movements of `bytes` each, one after the other from `begin_ns` on. */
static void run(struct sl_link_lane *to, int count, uint64_t begin_ns, uint64_t each_ns, uint64_t bytes)
{
    for (int i = 0; i < count; i++)
        sl_link_note(to, begin_ns + (uint64_t)i * each_ns, begin_ns + (uint64_t)(i + 1) * each_ns, bytes);
}

static void assert_speeds(const struct sl_link *link, uint64_t in, uint64_t out)
{
    uint64_t in_said = ASSUMED, out_said = ASSUMED;
    sl_link_speeds(link, &in_said, &out_said);
    assert_in_range(in_said, in - in / 1000, in + in / 1000);
    assert_in_range(out_said, out - out / 1000, out + out / 1000);
}

static void a_few_movements_say_nothing(void **state)
{
    (void)state;
    struct sl_link link = {0};
    run(&link.in, SL_LINK_LEAST - 1, 0, MS, 24000000);
    assert_speeds(&link, ASSUMED, ASSUMED);
}

static void one_direction_alone_is_faster_than_what_is_said(void **state)
{
    (void)state;
    struct sl_link link = {0};
    run(&link.in, SL_LINK_LEAST, 0, MS, 24000000);
    assert_speeds(&link, 22080000000, 22080000000);
}

static void what_ran_beside_the_other_direction_is_said_as_it_is(void **state)
{
    (void)state;
    struct sl_link link = {0};
    run(&link.in, SL_LINK_SPANS, 0, MS, 22080000);
    run(&link.out, SL_LINK_SPANS, 0, MS, 11040000);
    assert_speeds(&link, 22080000000, 11040000000);
}

static void a_part_that_was_shared_counts_as_far_as_it_was(void **state)
{
    (void)state;
    struct sl_link link = {0};
    /* Half of each millisecond the link carries 24 bytes a nanosecond, in the other half 22.08. */
    run(&link.in, SL_LINK_SPANS, 0, MS, 23040000);
    for (uint64_t i = 0; i < SL_LINK_SPANS; i++) sl_link_note(&link.out, i * MS, i * MS + MS / 2, 11040000);
    assert_speeds(&link, 22080000000, 22080000000);
}

/* Movers side by side share the direction: each gets a part of its speed. */
static void movements_side_by_side_have_the_speed_of_the_direction(void **state)
{
    (void)state;
    for (uint64_t movers = 1; movers <= 8; movers *= 2) {
        struct sl_link link = {0};
        for (uint64_t i = 0; i < SL_LINK_SPANS; i++)
            sl_link_note(&link.in, i * MS, (i + movers) * MS, 24000000);
        /* The first and the last ones have fewer beside them. */
        assert_speeds(&link, 22080000000, 22080000000);
    }
    struct sl_link both = {0};
    for (uint64_t i = 0; i < SL_LINK_SPANS; i++) {
        sl_link_note(&both.in, i * MS, (i + 2) * MS, 22080000);
        sl_link_note(&both.out, i * MS, (i + 2) * MS, 11040000);
    }
    assert_speeds(&both, 22080000000, 11040000000);
}

static void outliers_weigh_nothing(void **state)
{
    (void)state;
    struct sl_link link = {0};
    run(&link.out, 12, 0, MS, 24000000);
    run(&link.out, 4, 100 * MS, 50 * MS, 24000000);
    run(&link.out, 4, 1000 * MS, MS / 100, 24000000);
    sl_link_note(&link.out, 5, 5, 1);
    sl_link_note(&link.out, 5, 4, 1);
    assert_speeds(&link, 22080000000, 22080000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_trace_some_are_timed_when_asked_for, start, stop),
        cmocka_unit_test_setup_teardown(what_is_not_done_is_not_read, start, stop),
        cmocka_unit_test_setup_teardown(times_are_those_of_the_device, start, stop),
        cmocka_unit_test_setup_teardown(times_do_not_go_back, start, stop),
        cmocka_unit_test_setup_teardown(only_what_went_over_the_link_counts, start, stop),
        cmocka_unit_test_setup_teardown(the_speed_is_what_half_of_some_in_a_row_reached, start, stop),
        cmocka_unit_test_setup_teardown(a_refused_movement_is_left_out, start, stop),
        cmocka_unit_test_setup_teardown(where_events_cannot_be_had_nothing_is_timed, start, stop),
        cmocka_unit_test_setup_teardown(as_many_as_there_is_room_for_are_under_way, start, stop),
        cmocka_unit_test_setup_teardown(a_mover_times_some_when_asked_for, start, stop),
        cmocka_unit_test_setup_teardown(both_kinds_are_timed_in_turn, start, stop),
        cmocka_unit_test_setup_teardown(movements_of_movers_overlap, start, stop),
        cmocka_unit_test_teardown(a_trace_has_each, stop),
        cmocka_unit_test(a_few_movements_say_nothing),
        cmocka_unit_test(one_direction_alone_is_faster_than_what_is_said),
        cmocka_unit_test(what_ran_beside_the_other_direction_is_said_as_it_is),
        cmocka_unit_test(a_part_that_was_shared_counts_as_far_as_it_was),
        cmocka_unit_test(movements_side_by_side_have_the_speed_of_the_direction),
        cmocka_unit_test(outliers_weigh_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
