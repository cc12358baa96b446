/* At which collectives ranks meet, and how long these take by themselves. */
#include "tools/replay/replay_meetings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 12, MOST = 4, GROUP = 0, ALL_REDUCE = 1, BROADCAST = 2, SEND = 10, TAKES_NS = 10000 };

static struct model models[MOST];
static struct model_collective collectives[MOST][COUNT];
static struct model_duration durations[MOST][COUNT];

static void start(size_t ranks)
{
    for (size_t r = 0; r < ranks; r++) {
        models[r] = (struct model){.collectives = {collectives[r], COUNT, COUNT},
                                   .durations = {durations[r], COUNT, COUNT}};
        for (uint64_t i = 0; i < COUNT; i++) {
            collectives[r][i] = (struct model_collective){
                .tick = 2 * i + 1 + r, .bytes = 4 << 20, .communicator = 7, .function = ALL_REDUCE};
            durations[r][i] = (struct model_duration){2 * i + 1 + r, TAKES_NS};
        }
    }
}

static struct replay_meetings find(size_t ranks)
{
    const struct model *all[MOST];
    struct replay_meetings meetings;
    for (size_t r = 0; r < ranks; r++) all[r] = &models[r];
    assert_true(replay_meetings_find(all, ranks, &meetings));
    return meetings;
}

static void the_nth_of_a_communicator_is_the_same_on_all_ranks(void **state)
{
    (void)state;
    start(3);
    collectives[2][4].communicator = 9; /* of this rank alone */
    models[2].collectives.count = 9;
    struct replay_meetings meetings = find(3);
    assert_int_equal(meetings.count, 1 + 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(meetings.of_rank[0][i], 1 + i);
        assert_int_equal(meetings.of_rank[2][i < 4 ? i : i + 1], 1 + i);
        assert_int_equal(meetings.at[1 + i].members, 7);
    }
    assert_int_equal(meetings.of_rank[2][4], 0);
    assert_int_equal(meetings.alone[0], COUNT - 8);
    assert_int_equal(meetings.alone[2], 1);
    assert_int_equal(meetings.unlike, 0);
    replay_meetings_free(&meetings);
}

static void who_comes_last_waits_for_nobody(void **state)
{
    (void)state;
    start(2);
    for (size_t i = 0; i < COUNT; i++) durations[i % 2][i].took_ns += 5000 * i; /* it came first */
    durations[0][3].took_ns = durations[1][3].took_ns = TAKES_NS / 2; /* one that was faster by chance */
    struct replay_meetings meetings = find(2);
    for (uint32_t m = 1; m < meetings.count; m++) assert_int_equal(meetings.at[m].took_ns, TAKES_NS);
    replay_meetings_free(&meetings);
}

/* A rank alone may have waited. */
static void those_timed_on_all_ranks_count_more(void **state)
{
    (void)state;
    start(2);
    models[1].durations.count = 2;
    for (size_t i = 2; i < COUNT; i++) durations[0][i].took_ns = 90000;
    struct replay_meetings meetings = find(2);
    assert_int_equal(meetings.at[COUNT].took_ns, TAKES_NS);
    replay_meetings_free(&meetings);
    models[1].durations.count = 0;
    durations[0][0].took_ns = durations[0][1].took_ns = 95000;
    durations[0][5].took_ns = 40000;
    meetings = find(2);
    assert_int_equal(meetings.at[1].took_ns, 40000);
    assert_false(meetings.at[1].guessed);
    replay_meetings_free(&meetings);
    models[0].durations.count = 0;
    meetings = find(2);
    assert_true(meetings.at[1].guessed);
    replay_meetings_free(&meetings);
}

static void kinds_have_times_of_their_own(void **state)
{
    (void)state;
    start(2);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < COUNT; i += 2) {
            collectives[r][i].bytes = 4096;
            durations[r][i].took_ns = 1000;
        }
    struct replay_meetings meetings = find(2);
    assert_int_equal(meetings.at[1].took_ns, 1000);
    assert_int_equal(meetings.at[2].took_ns, TAKES_NS);
    replay_meetings_free(&meetings);
}

static void groups_are_met_where_all_have_the_same(void **state)
{
    (void)state;
    start(2);
    collectives[0][3].function = collectives[1][3].function = GROUP;
    struct replay_meetings meetings = find(2);
    assert_int_equal(meetings.count, 1 + COUNT);
    replay_meetings_free(&meetings);
    collectives[1][3].function = ALL_REDUCE;
    collectives[1][4].function = GROUP; /* pairs in different places: what is left is met */
    meetings = find(2);
    assert_int_equal(meetings.count, COUNT);
    assert_int_equal(meetings.of_rank[0][3], 0);
    assert_int_equal(meetings.of_rank[0][4], meetings.of_rank[1][3]);
    assert_int_equal(meetings.unlike, 0);
    replay_meetings_free(&meetings);
}

static void meetings_end_where_records_are_lost(void **state)
{
    (void)state;
    static struct model_gap gap = {.tick = 2 * 6, .lost = 3};
    start(2);
    models[1].gaps = (__typeof__(models[1].gaps)){&gap, 1, 1};
    struct replay_meetings meetings = find(2);
    assert_int_equal(meetings.count, 1 + 5);
    replay_meetings_free(&meetings);
}

static void sends_are_no_meetings(void **state)
{
    (void)state;
    start(2);
    collectives[0][0].function = collectives[0][6].function = collectives[1][2].function = SEND;
    models[1].collectives.count = COUNT - 1;
    struct replay_meetings meetings = find(2);
    assert_int_equal(meetings.count, 1 + COUNT - 2);
    assert_int_equal(meetings.of_rank[0][0], 0);
    assert_int_equal(meetings.of_rank[0][1], 1);
    replay_meetings_free(&meetings);
}

static void what_differs_ends_the_meetings(void **state)
{
    (void)state;
    start(2);
    collectives[1][5].function = BROADCAST;
    struct replay_meetings meetings = find(2);
    assert_int_equal(meetings.count, 1 + 5);
    assert_int_equal(meetings.unlike, 1);
    replay_meetings_free(&meetings);
}

/* 2 MiB that two ranks sum up pass each link once, in 10 us; the small ones tell nothing. */
static void how_fast_links_are_is_seen_at_long_ones(void **state)
{
    (void)state;
    start(2);
    collectives[0][2].bytes = collectives[1][2].bytes = 64;
    durations[0][2].took_ns = durations[1][2].took_ns = 1;
    struct replay_meetings meetings = find(2);
    assert_int_equal(meetings.at[1].passed_bytes, 2 << 20);
    assert_float_equal(meetings.bytes_per_ns, (2 << 20) / (double)TAKES_NS, 1e-6);
    replay_meetings_free(&meetings);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < COUNT; i++) collectives[r][i].bytes = 64;
    meetings = find(2);
    assert_float_equal(meetings.bytes_per_ns, 0, 0);
    replay_meetings_free(&meetings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_of_a_communicator_is_the_same_on_all_ranks),
        cmocka_unit_test(who_comes_last_waits_for_nobody),
        cmocka_unit_test(those_timed_on_all_ranks_count_more),
        cmocka_unit_test(kinds_have_times_of_their_own),
        cmocka_unit_test(groups_are_met_where_all_have_the_same),
        cmocka_unit_test(meetings_end_where_records_are_lost),
        cmocka_unit_test(sends_are_no_meetings),
        cmocka_unit_test(what_differs_ends_the_meetings),
        cmocka_unit_test(how_fast_links_are_is_seen_at_long_ones),
    };
    return cmocka_run_group_tests_name("replay meetings", tests, NULL, NULL);
}
