/* Which collectives of several ranks are the same one. */
#include "tools/analyses/meetings.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MEETINGS = 40, MOST = 3, REDUCE = 1, SEND = 10 };

static struct model models[MOST];
static struct model_collective collectives[MOST][MEETINGS];
static struct model_duration durations[MOST][MEETINGS];
static struct model_gap gap;
static struct meetings found;

static void start(size_t count)
{
    for (size_t r = 0; r < count; r++) {
        models[r] = (struct model){.collectives = {collectives[r], MEETINGS, MEETINGS},
                                   .durations = {durations[r], MEETINGS, MEETINGS}};
        for (uint64_t i = 0; i < MEETINGS; i++) {
            collectives[r][i] = (struct model_collective){.tick = 3 * i + 1 + r,
                                                          .time_ns = 1000 * i + r,
                                                          .bytes = 64 * i,
                                                          .communicator = 7,
                                                          .function = REDUCE};
            durations[r][i] = (struct model_duration){3 * i + 1 + r, 100 + i, 2000 * i + 1};
        }
    }
}

static void find(size_t count)
{
    const struct model *all[MOST];
    for (size_t r = 0; r < count; r++) all[r] = &models[r];
    meetings_free(&found);
    assert_true(meetings_find(all, count, false, &found));
}

static void the_nth_is_the_same_on_all_ranks(void **state)
{
    (void)state;
    start(3);
    find(3);
    assert_int_equal(found.count, MEETINGS);
    assert_int_equal(found.shared, MEETINGS);
    assert_int_equal(found.member_count, 3 * MEETINGS);
    for (size_t i = 0; i < MEETINGS; i++) {
        assert_int_equal(found.at[i].count, 3);
        for (uint32_t r = 0; r < 3; r++) {
            const struct meeting_member *member = &found.members[found.at[i].first + r];
            const struct meeting_entry *entry = meeting_entry(&found, member);
            assert_int_equal(member->rank, r);
            assert_int_equal(entry->tick, 3 * i + 1 + r);
            assert_int_equal(entry->launched_ns, 1000 * i + r);
            assert_true(entry->timed);
            assert_int_equal(entry->took_ns, 100 + i);
            assert_int_equal(entry->began_ns, 2000 * i + 1);
            assert_int_equal(entry->collective, i);
            assert_int_equal(entry->meeting, i);
        }
    }
}

static void what_was_not_timed_has_no_time(void **state)
{
    (void)state;
    start(2);
    durations[1][5].tick++;
    find(2);
    for (size_t i = 0; i < MEETINGS; i++)
        assert_int_equal(meeting_entry(&found, &found.members[found.at[i].first + 1])->timed, i != 5);
}

static void what_is_not_of_all_ranks_is_no_meeting(void **state)
{
    (void)state;
    start(2);
    for (size_t i = 0; i < 10; i++) collectives[0][i].function = SEND; /* the other rank has none of them */
    models[1].collectives = (__typeof__(models[1].collectives)){collectives[1] + 10, MEETINGS - 10, MEETINGS};
    find(2);
    assert_int_equal(found.shared, MEETINGS - 10);
    assert_int_equal(found.unlike, 0);
    assert_int_equal(meeting_entry(&found, &found.members[0])->tick, 31);
    assert_int_equal(found.ranks[0].count, MEETINGS - 10);
}

static void a_trace_that_ends_early_has_no_later_ones(void **state)
{
    (void)state;
    start(3);
    models[2].collectives.count = 10;
    find(3);
    assert_int_equal(found.count, 10);
    assert_int_equal(found.ranks[0].entries[9].meeting, 9);
    assert_true(found.ranks[0].entries[10].meeting == MEETING_NONE);
}

/* How many of the communicator were lost nobody knows: the next one may be any. */
static void lost_records_end_the_meetings(void **state)
{
    (void)state;
    start(2);
    gap = (struct model_gap){.tick = 3 * 12 + 2, .lost = 5};
    models[1].gaps = (__typeof__(models[1].gaps)){&gap, 1, 1};
    find(2);
    assert_int_equal(found.count, 12);
    assert_int_equal(found.ranks[1].cut, MEETINGS - 12);
    assert_int_equal(found.ranks[0].cut, 0);
}

static void other_collectives_end_them(void **state)
{
    (void)state;
    start(2);
    collectives[1][12].function = REDUCE + 1;
    find(2);
    assert_int_equal(found.unlike, 1);
    assert_int_equal(found.count, 12);
}

static void other_jobs_have_nothing_in_common(void **state)
{
    (void)state;
    start(2);
    for (size_t i = 0; i < MEETINGS; i++) collectives[1][i].communicator = 8;
    find(2);
    assert_int_equal(found.shared, 0);
    assert_int_equal(found.count, 2 * MEETINGS);
}

/* A pair of three ranks meets in a communicator of its own, in between. */
static void communicators_are_counted_by_themselves(void **state)
{
    (void)state;
    start(3);
    for (size_t i = 1; i < MEETINGS; i += 2)
        for (size_t r = 0; r < 2; r++) collectives[r][i].communicator = 9;
    models[2].collectives.count = MEETINGS / 2;
    find(3);
    assert_int_equal(found.count, MEETINGS);
    size_t pairs = 0;
    for (size_t i = 0; i < found.count; i++) pairs += found.at[i].count == 2;
    assert_int_equal(pairs, MEETINGS / 2);
    assert_int_equal(found.at[0].count, 3);
    assert_int_equal(meeting_entry(&found, &found.members[found.at[1].first])->tick, 7);
}

static void who_took_least_came_last(void **state)
{
    (void)state;
    uint32_t rank = 7;
    start(3);
    durations[1][5].took_ns -= 20;
    durations[2][6].took_ns -= 20;
    durations[2][7].tick++;
    durations[0][8].tick++;
    durations[2][8].tick++;
    find(3);
    assert_ptr_equal(meeting_last(&found, &found.at[5], &rank), &found.ranks[1].entries[5]);
    assert_int_equal(rank, 1);
    assert_ptr_equal(meeting_last(&found, &found.at[6], &rank), &found.ranks[2].entries[6]);
    assert_non_null(meeting_last(&found, &found.at[7], &rank));
    assert_null(meeting_last(&found, &found.at[8], &rank)); /* one alone was timed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_is_the_same_on_all_ranks),
        cmocka_unit_test(what_was_not_timed_has_no_time),
        cmocka_unit_test(what_is_not_of_all_ranks_is_no_meeting),
        cmocka_unit_test(a_trace_that_ends_early_has_no_later_ones),
        cmocka_unit_test(lost_records_end_the_meetings),
        cmocka_unit_test(other_collectives_end_them),
        cmocka_unit_test(other_jobs_have_nothing_in_common),
        cmocka_unit_test(who_took_least_came_last),
        cmocka_unit_test(communicators_are_counted_by_themselves),
    };
    int failed = cmocka_run_group_tests_name("meetings", tests, NULL, NULL);
    meetings_free(&found);
    return failed;
}
