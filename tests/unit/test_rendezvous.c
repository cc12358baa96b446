/* Simulated devices that meet: who may go on how far, and when meetings begin. */
#include "tools/replay/rendezvous.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* at[0] is none; two of all three ranks, two of the first two. */
static const struct replay_meeting meetings[] = {
    {0}, {.members = 7}, {.members = 7}, {.members = 3}, {.members = 3}};

static int set_up(void **state)
{
    *state = rendezvous_new(meetings, 5, 3);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    rendezvous_delete(*state);
    return 0;
}

static void expect(struct rendezvous *it, size_t rank, uint32_t meeting, double until_ns)
{
    struct rendezvous_answer answer;
    assert_true(rendezvous_answer(it, &answer));
    assert_int_equal(answer.rank, rank);
    assert_int_equal(answer.meeting, meeting);
    assert_true(answer.until_ns == until_ns);
}

static void expect_none(struct rendezvous *it)
{
    struct rendezvous_answer answer;
    assert_false(rendezvous_answer(it, &answer));
}

static void wait_at(struct rendezvous *it, size_t rank, uint32_t meeting, double now_ns)
{
    rendezvous_arrive(it, rank, meeting, now_ns);
    rendezvous_ask(it, rank, now_ns, INFINITY);
}

static void a_meeting_begins_when_the_last_has_come(void **state)
{
    struct rendezvous *it = *state;
    wait_at(it, 0, 1, 100);
    expect_none(it);
    wait_at(it, 2, 1, 300);
    expect_none(it);
    wait_at(it, 1, 1, 200);
    expect(it, 0, 1, 300);
    expect(it, 1, 1, 300);
    expect(it, 2, 1, 300);
    expect_none(it);
    assert_int_equal(rendezvous_missed(it), 0);
}

/* It may have gone on with other things meanwhile. */
static void a_meeting_does_not_begin_in_the_past(void **state)
{
    struct rendezvous *it = *state;
    rendezvous_end(it, 2);
    rendezvous_arrive(it, 0, 3, 100);
    rendezvous_ask(it, 0, 250, 400);
    rendezvous_arrive(it, 1, 3, 200);
    rendezvous_ask(it, 1, 200, INFINITY);
    expect(it, 0, 3, 250);
    expect(it, 1, 3, 200);
}

/* Nobody else does anything before 500, so who is earliest may go on up to there. */
static void time_passes_up_to_what_others_may_do(void **state)
{
    struct rendezvous *it = *state;
    rendezvous_arrive(it, 0, 1, 100);
    rendezvous_ask(it, 0, 100, 900);
    rendezvous_arrive(it, 1, 1, 100);
    rendezvous_ask(it, 1, 100, 300);
    expect_none(it); /* the third may still come at any time */
    rendezvous_arrive(it, 2, 2, 50);
    rendezvous_ask(it, 2, 50, 500);
    expect(it, 1, 0, 500);
    expect_none(it); /* until it says something */
    rendezvous_ask(it, 1, 500, 700);
    expect(it, 2, 0, 700);
    rendezvous_arrive(it, 2, 1, 600);
    rendezvous_ask(it, 2, 600, 800);
    expect(it, 0, 1, 600);
}

static void who_has_ended_is_waited_for_by_nobody(void **state)
{
    struct rendezvous *it = *state;
    wait_at(it, 0, 1, 100);
    wait_at(it, 1, 1, 200);
    expect_none(it);
    rendezvous_end(it, 2);
    expect(it, 0, 1, 200);
    expect(it, 1, 1, 200);
    wait_at(it, 0, 3, 300);
    rendezvous_end(it, 1);
    expect(it, 0, 3, 300);
    assert_int_equal(rendezvous_missed(it), 0);
}

/* Each waits where the other does not come to: the first one goes on. */
static void ranks_that_meet_in_other_orders_go_on(void **state)
{
    struct rendezvous *it = *state;
    rendezvous_end(it, 2);
    wait_at(it, 1, 4, 150);
    wait_at(it, 0, 3, 100);
    expect(it, 0, 3, 100);
    assert_int_equal(rendezvous_missed(it), 1);
    rendezvous_arrive(it, 0, 4, 120);
    rendezvous_ask(it, 0, 120, INFINITY);
    expect(it, 0, 4, 150);
    expect(it, 1, 4, 150);
    rendezvous_arrive(it, 1, 3, 160); /* late */
    rendezvous_ask(it, 1, 160, INFINITY);
    expect(it, 1, 3, 160);
    assert_int_equal(rendezvous_missed(it), 1);
}

static void a_rank_may_wait_at_several(void **state)
{
    struct rendezvous *it = *state;
    rendezvous_arrive(it, 0, 3, 100);
    rendezvous_arrive(it, 0, 1, 120);
    rendezvous_ask(it, 0, 120, INFINITY);
    wait_at(it, 1, 3, 200);
    rendezvous_arrive(it, 2, 2, 10);
    rendezvous_ask(it, 2, 10, INFINITY);
    expect(it, 0, 3, 200);
    expect(it, 1, 3, 200);
    wait_at(it, 1, 1, 300);
    rendezvous_ask(it, 0, 210, INFINITY);
    wait_at(it, 2, 1, 250);
    expect(it, 0, 1, 300);
}

static void nonsense_is_nothing(void **state)
{
    struct rendezvous *it = *state;
    rendezvous_arrive(it, 2, 3, 100); /* not one of its meetings */
    rendezvous_arrive(it, 2, 99, 100);
    rendezvous_arrive(it, 2, 0, 100);
    rendezvous_ask(it, 2, 100, INFINITY);
    expect_none(it);
    rendezvous_end(it, 0);
    rendezvous_end(it, 1);
    expect(it, 2, 0, INFINITY); /* it waits for what never comes, and is told */
    assert_int_equal(rendezvous_missed(it), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_meeting_begins_when_the_last_has_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_meeting_does_not_begin_in_the_past, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_passes_up_to_what_others_may_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_ended_is_waited_for_by_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranks_that_meet_in_other_orders_go_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rank_may_wait_at_several, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense_is_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("rendezvous", tests, NULL, NULL);
}
