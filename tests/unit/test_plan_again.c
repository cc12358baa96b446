/* When the plan of before does again, and for which launches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_again.h"

#define LAUNCHES 4
#define MS UINT64_C(1000000)

static struct sl_plan_launch launches[LAUNCHES];
static struct sl_plan_access accesses[LAUNCHES];
static sl_chunk deaths[1];
static uint64_t bytes[LAUNCHES];
static enum sl_chunk_content content[LAUNCHES], at_end[LAUNCHES];
static struct sl_plan_action actions[2];
static struct sl_plan_input input;
static struct sl_plan plan;
static struct sl_plan_memory memory;

/* Each launch uses a chunk of its own, one of which dies; the first two are there, before and after. */
static int set_up(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < LAUNCHES; t++) {
        launches[t] = (struct sl_plan_launch){.first_access = t, .access_count = 1, .duration_ns = MS};
        accesses[t] = (struct sl_plan_access){t};
        bytes[t] = 2 * SL_MIB;
        content[t] = at_end[t] = t < 2 ? SL_CONTENT_RESIDENT : SL_CONTENT_HOST;
    }
    launches[2].death_count = 1;
    deaths[0] = 2;
    input = (struct sl_plan_input){.first_tick = 100,
                                   .launches = launches,
                                   .launch_count = LAUNCHES,
                                   .accesses = accesses,
                                   .deaths = deaths,
                                   .chunk_count = LAUNCHES,
                                   .chunk_bytes = bytes,
                                   .content = content,
                                   .budget_bytes = 4 * SL_MIB,
                                   .in_bytes_per_s = 24000000000,
                                   .out_bytes_per_s = 24000000000};
    actions[0] = (struct sl_plan_action){SL_ACTION_EVICT, 0, 100, 102, SL_NONE};
    actions[1] = (struct sl_plan_action){SL_ACTION_FETCH, 2, 100, 102, 0};
    plan = (struct sl_plan){.actions = actions, .action_count = 2, .seconds_ns = 1000 * MS};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sl_plan_memory_free(&memory);
    return 0;
}

static bool again(void)
{
    struct sl_plan given = {0};
    bool is = sl_plan_again(&memory, &input, false, &given);
    sl_plan_free(&given);
    return is;
}

/* As often as it takes until the plan is taken for the best. */
static void settle(void)
{
    for (int i = 0; i < 50 && !again(); i++) sl_plan_keep(&memory, &input, &plan, at_end);
    assert_true(again());
}

static void it_is_given_for_later_launches(void **state)
{
    (void)state;
    struct sl_plan given;
    settle();
    input.first_tick = 250;
    assert_true(sl_plan_again(&memory, &input, false, &given));
    assert_int_equal(given.action_count, 2);
    assert_int_equal(given.actions[0].after, 250);
    assert_int_equal(given.actions[0].deadline, 252);
    assert_int_equal(given.actions[0].frame_from, SL_NONE);
    assert_int_equal(given.actions[1].kind, SL_ACTION_FETCH);
    assert_int_equal(given.actions[1].frame_from, 0);
    assert_int_equal(given.seconds_ns, plan.seconds_ns);
    sl_plan_free(&given);
}

static void not_before_nothing_faster_was_found_for_a_while(void **state)
{
    (void)state;
    int plans = 0;
    while (plans < 1000 && !again()) {
        sl_plan_keep(&memory, &input, &plan, at_end);
        plan.seconds_ns -= plan.seconds_ns / 100;
        plans++;
    }
    assert_in_range(plans, 10, 200); /* ever faster ones, but not for ever */
}

static void now_and_then_a_faster_one_is_looked_for(void **state)
{
    (void)state;
    int given = 0;
    settle();
    while (given < 1000 && again()) given++;
    assert_in_range(given, 10, 999);
    sl_plan_keep(&memory, &input, &plan, at_end);
    assert_true(again());
}

static void more_to_learn_from_makes_it_look_again(void **state)
{
    (void)state;
    struct sl_plan given;
    settle();
    sl_plan_look_again(&memory);
    assert_false(again());
    assert_true(sl_plan_again(&memory, &input, true, &given)); /* it is still there for who is hurried */
    sl_plan_free(&given);
    settle();
}

static void whoever_is_hurried_gets_what_there_is(void **state)
{
    (void)state;
    struct sl_plan given;
    assert_false(sl_plan_again(&memory, &input, true, &given));
    sl_plan_keep(&memory, &input, &plan, at_end);
    assert_false(again());
    assert_true(sl_plan_again(&memory, &input, true, &given));
    sl_plan_free(&given);
    input.budget_bytes /= 2;
    assert_false(sl_plan_again(&memory, &input, true, &given));
}

static void what_does_not_end_as_it_began_is_not_kept(void **state)
{
    (void)state;
    at_end[1] = SL_CONTENT_HOST;
    for (int i = 0; i < 20; i++) sl_plan_keep(&memory, &input, &plan, at_end);
    assert_false(again());
}

static void another_input_needs_another_plan(void **state)
{
    (void)state;
    settle();
    accesses[3].chunk = 0;
    assert_false(again());
    accesses[3].chunk = 3;
    content[3] = SL_CONTENT_RESIDENT;
    assert_false(again());
    content[3] = SL_CONTENT_HOST;
    bytes[0] = 4 * SL_MIB;
    assert_false(again());
    bytes[0] = 2 * SL_MIB;
    deaths[0] = 1;
    assert_false(again());
    deaths[0] = 2;
    input.budget_bytes += 2 * SL_MIB;
    assert_false(again());
    input.budget_bytes -= 2 * SL_MIB;
    input.launch_count--;
    assert_false(again());
    input.launch_count++;
    assert_true(again());
}

static void another_speed_does_too(void **state)
{
    (void)state;
    settle();
    launches[0].duration_ns += MS / 100;
    assert_true(again());
    launches[0].duration_ns += MS;
    assert_false(again());
    launches[0].duration_ns = MS;
    input.in_bytes_per_s /= 2;
    assert_false(again());
    input.in_bytes_per_s *= 2;
    assert_true(again());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_given_for_later_launches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_before_nothing_faster_was_found_for_a_while, set_up, tear_down),
        cmocka_unit_test_setup_teardown(now_and_then_a_faster_one_is_looked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whoever_is_hurried_gets_what_there_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_to_learn_from_makes_it_look_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_end_as_it_began_is_not_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_input_needs_another_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_speed_does_too, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
