/* Traces of several ranks, compared: who came last, how long the others waited, and why. */
#include "tools/analyses/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    MEETINGS = 40,
    MOST = 4,
    STEP_NS = 1000000,
    WORK_NS = 600000,
    TAKES_NS = 10000,
    REDUCE = 1,
};

static struct model models[MOST];
static struct meetings meetings;
static struct model_launch launches[MOST][2 * MEETINGS];
static struct model_shape shapes[] = {{.kind = SL_LAUNCH_KERNEL, .kernel = 1},
                                      {.kind = SL_LAUNCH_COLLECTIVE}};
static struct model_collective collectives[MOST][MEETINGS];
static struct model_duration durations[MOST][2 * MEETINGS];
static struct model_move moves[MOST][MEETINGS];

/* Each meeting is a kernel and a collective. All arrive at once. */
static void start(size_t count, uint64_t communicator)
{
    for (size_t r = 0; r < count; r++) {
        models[r] = (struct model){.launches = {launches[r], 2 * MEETINGS, 2 * MEETINGS},
                                   .shapes = {shapes, 2, 2},
                                   .kernels.count = 2,
                                   .collectives = {collectives[r], MEETINGS, MEETINGS},
                                   .durations = {durations[r], 2 * MEETINGS, 2 * MEETINGS},
                                   .moves = {moves[r], 0, MEETINGS}};
        for (uint64_t i = 0; i < MEETINGS; i++) {
            collectives[r][i] = (struct model_collective){
                .tick = 2 * i + 2, .bytes = 4096, .communicator = communicator, .function = REDUCE};
            launches[r][2 * i] = (struct model_launch){.tick = 2 * i + 1, .shape = 0};
            launches[r][2 * i + 1] = (struct model_launch){.tick = 2 * i + 2, .shape = 1};
            durations[r][2 * i] = (struct model_duration){.tick = 2 * i + 1, .took_ns = WORK_NS};
            durations[r][2 * i + 1] = (struct model_duration){.tick = 2 * i + 2, .took_ns = TAKES_NS};
        }
    }
}

/* The rank comes to a meeting later. All end together, so it takes the rank itself less. */
static void delay(size_t rank, size_t meeting, uint64_t ns)
{
    durations[rank][2 * meeting + 1].took_ns = ns < TAKES_NS ? TAKES_NS - ns : 0;
}

static struct ranks compare(size_t count)
{
    const struct model *all[MOST];
    struct ranks ranks;
    for (size_t r = 0; r < count; r++) all[r] = &models[r];
    meetings_free(&meetings);
    assert_true(meetings_find(all, count, false, &meetings));
    assert_true(ranks_compare(&meetings, &ranks));
    return ranks;
}

static void ranks_that_come_together_wait_for_nobody(void **state)
{
    (void)state;
    start(3, 7);
    struct ranks ranks = compare(3);
    assert_int_equal(meetings.shared, MEETINGS);
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(ranks.books[r].compared, MEETINGS);
        assert_int_equal(ranks.books[r].waited_ns, 0);
        assert_int_equal(ranks.books[r].late_ns, 0);
        assert_int_equal(ranks.books[r].last, 0);
    }
    ranks_free(&ranks);
}

static void who_comes_last_made_the_others_wait(void **state)
{
    (void)state;
    start(3, 7);
    delay(1, 5, 8000);
    delay(2, 5, 3000);
    struct ranks ranks = compare(3);
    assert_int_equal(ranks.books[0].waited_ns, 8000);
    assert_int_equal(ranks.books[2].waited_ns, 5000);
    assert_int_equal(ranks.books[1].waited_ns, 0);
    assert_int_equal(ranks.books[1].late_ns, 5000); /* what would be gained if it came with the next */
    assert_int_equal(ranks.books[1].by_host_ns, 5000);
    assert_int_equal(ranks.kind_count, 1);
    assert_int_equal(ranks.kinds[0].waited_ns, 13000);
    assert_int_equal(ranks.kinds[0].bytes, MEETINGS * 4096);
    assert_int_equal(ranks.kinds[0].last_of_rank[1], 1);
    ranks_free(&ranks);
}

static void causes_are_told_apart(void **state)
{
    (void)state;
    start(2, 7);
    delay(1, 5, 8000);
    durations[1][2 * 5].took_ns += 6000; /* its kernel took longer */
    delay(1, 9, 7000);
    moves[1][models[1].moves.count++] =
        (struct model_move){.tick = 2 * 9 + 1, .bytes = 1, .kind = SL_ACTION_FETCH};
    delay(1, 12, 4000);
    struct ranks ranks = compare(2);
    assert_int_equal(ranks.books[1].by_work_ns, 6000);
    assert_int_equal(ranks.books[1].by_data_ns, 7000);
    assert_int_equal(ranks.books[1].by_host_ns, 2000 + 4000);
    assert_int_equal(ranks.books[1].late_ns, 19000);
    ranks_free(&ranks);
}

/* Though it fetched no more: its evictions may have been late. */
static void launches_that_waited_for_data_say_so(void **state)
{
    (void)state;
    static struct model_stall stalls[] = {{.launch = 2 * 5 + 1, .took_ns = 3000},
                                          {.tick = 2 * 9 + 1, .took_ns = 9000}};
    start(2, 7);
    models[1].stalls = (__typeof__(models[1].stalls)){stalls, 2, 2};
    delay(1, 5, 8000);
    delay(1, 9, 4000);
    delay(1, 12, 1000);
    struct ranks ranks = compare(2);
    assert_int_equal(ranks.books[1].by_data_ns, 3000 + 4000);
    assert_int_equal(ranks.books[1].by_host_ns, 5000 + 1000);
    ranks_free(&ranks);
}

/* Both fetch as much, one of them over a link that takes twice as long. */
static void a_slow_link_is_told_apart(void **state)
{
    (void)state;
    static struct model_transfer transfers[2][MEETINGS];
    start(2, 7);
    for (size_t r = 0; r < 2; r++) {
        for (uint64_t i = 0; i < MEETINGS; i++) {
            transfers[r][i] = (struct model_transfer){
                .tick = 2 * i + 1, .took_ns = 3000 * (r + 1), .bytes = 4096, .kind = SL_ACTION_FETCH};
            moves[r][i] = (struct model_move){.tick = 2 * i + 1, .bytes = 4096, .kind = SL_ACTION_FETCH};
        }
        models[r].transfers = (__typeof__(models[r].transfers)){transfers[r], MEETINGS, MEETINGS};
        models[r].moves.count = MEETINGS;
    }
    delay(1, 5, 7000);
    struct ranks ranks = compare(2);
    assert_int_equal(ranks.books[1].late_ns, 7000);
    assert_int_equal(ranks.books[1].by_link_ns, 3000);
    assert_int_equal(ranks.books[1].by_host_ns, 4000);
    ranks_free(&ranks);
    models[0].transfers.count = 0; /* nobody knows how fast it would be, though later ones are faster */
    for (size_t i = MEETINGS / 2; i < MEETINGS; i++) transfers[1][i].took_ns = 0;
    ranks = compare(2);
    assert_int_equal(ranks.books[1].by_link_ns, 0);
    ranks_free(&ranks);
    models[0].transfers.count = MEETINGS;
    for (size_t i = 0; i < MEETINGS; i++) transfers[1][i].took_ns = 3600; /* within what links differ */
    ranks = compare(2);
    assert_int_equal(ranks.books[1].by_link_ns, 0);
    ranks_free(&ranks);
}

/* What delays a rank for several meetings happened before the first of them. */
static void a_rank_that_stays_late_is_so_for_one_cause(void **state)
{
    (void)state;
    start(2, 7);
    durations[1][2 * 5].took_ns += 6000;
    for (size_t i = 5; i < 9; i++) delay(1, i, 6000);
    struct ranks ranks = compare(2);
    assert_int_equal(ranks.books[1].by_work_ns, 4 * 6000);
    assert_int_equal(ranks.books[1].by_host_ns, 0);
    ranks_free(&ranks);
}

static void what_was_not_timed_is_not_compared(void **state)
{
    (void)state;
    start(3, 7);
    delay(1, 5, 5000);
    durations[1][2 * 5 + 1].tick = 2 * 5 + 1;
    models[2].durations.count = 0;
    struct ranks ranks = compare(3);
    assert_int_equal(meetings.shared, MEETINGS);
    assert_int_equal(ranks.books[0].compared, MEETINGS - 1);
    assert_int_equal(ranks.books[1].late_ns, 0);
    assert_int_equal(ranks.books[2].compared, 0);
    ranks_free(&ranks);
}

/* What a rank worked until a collective of one communicator is less than until a later one of another. */
static void communicators_are_compared_by_themselves(void **state)
{
    (void)state;
    start(2, 7);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 1; i < MEETINGS; i += 2) collectives[r][i].communicator = 9;
    delay(1, 1, 8000); /* the first of the second communicator */
    delay(1, 6, 8000);
    durations[0][2 * 9].took_ns += 6000; /* later, so no reason for that */
    struct ranks ranks = compare(2);
    assert_int_equal(meetings.shared, MEETINGS);
    assert_int_equal(ranks.books[1].late_ns, 16000);
    assert_int_equal(ranks.books[1].by_host_ns, 16000);
    ranks_free(&ranks);
}

/* One kernel in ten is timed. Those of one rank take longer, all of them. */
static void launches_that_were_not_timed_count_as_the_mean(void **state)
{
    (void)state;
    start(2, 7);
    for (size_t r = 0; r < 2; r++) {
        size_t count = 0;
        for (size_t i = 0; i < MEETINGS; i++) {
            if (i % 10 == 3) durations[r][count++] = durations[r][2 * i];
            durations[r][count++] = durations[r][2 * i + 1];
        }
        models[r].durations.count = count;
    }
    for (size_t i = 0; i < models[1].durations.count; i++) {
        struct model_duration *duration = &durations[1][i];
        if (duration->tick % 2)
            duration->took_ns += 4000;
        else
            duration->took_ns -= 5000;
    }
    struct ranks ranks = compare(2);
    assert_int_equal(ranks.books[1].late_ns, MEETINGS * 5000);
    /* At the first meeting it is behind by one kernel; later by more than it is late. */
    assert_int_equal(ranks.books[1].by_work_ns, 4000 + (MEETINGS - 1) * 5000);
    assert_int_equal(ranks.books[1].by_host_ns, 1000);
    assert_int_equal(ranks.books[1].spending.timed, MEETINGS / 10);
    assert_int_equal(ranks.books[1].spending.estimated, MEETINGS - MEETINGS / 10);
    ranks_free(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_come_together_wait_for_nobody),
        cmocka_unit_test(who_comes_last_made_the_others_wait),
        cmocka_unit_test(causes_are_told_apart),
        cmocka_unit_test(launches_that_waited_for_data_say_so),
        cmocka_unit_test(a_slow_link_is_told_apart),
        cmocka_unit_test(a_rank_that_stays_late_is_so_for_one_cause),
        cmocka_unit_test(what_was_not_timed_is_not_compared),
        cmocka_unit_test(launches_that_were_not_timed_count_as_the_mean),
        cmocka_unit_test(communicators_are_compared_by_themselves),
    };
    int failed = cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
    meetings_free(&meetings);
    return failed;
}
