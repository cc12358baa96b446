/* How far predictions are believed, and that a plan ends there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/history.h"
#include "plan/plan.h"

#define ENOUGH 100
#define PERIOD 1000

static struct sl_confidence doubting(uint32_t run, uint32_t count)
{
    struct sl_confidence confidence = {0};
    sl_confidence_judge(&confidence, ENOUGH, ENOUGH / 2, ENOUGH);
    for (uint32_t i = 0; i < count; i++) sl_confidence_ended(&confidence, run);
    return confidence;
}

static void what_is_used_is_believed(void **state)
{
    (void)state;
    struct sl_confidence confidence = {0};
    for (uint64_t ahead = 0; ahead < 100 * ENOUGH; ahead += 10) {
        sl_confidence_judge(&confidence, ahead, ahead / 5, ENOUGH);
        sl_confidence_ended(&confidence, 8);
        assert_true(sl_confidence_left(&confidence, 4, PERIOD) == SIZE_MAX);
    }
}

/* What was right for long is soon forgotten when it is right no more. */
static void only_lately_counts(void **state)
{
    (void)state;
    struct sl_confidence confidence = {0};
    uint64_t ahead = 1000 * ENOUGH, unused = 0;
    for (int i = 0; i < 20; i++) sl_confidence_judge(&confidence, ahead, 0, ENOUGH);
    for (int i = 0; i < 6; i++) {
        ahead += ENOUGH / 2;
        unused += ENOUGH / 2;
        sl_confidence_judge(&confidence, ahead, unused, ENOUGH);
    }
    assert_true(confidence.doubted);
}

static void too_little_is_no_evidence(void **state)
{
    (void)state;
    struct sl_confidence confidence = {0};
    sl_confidence_judge(&confidence, ENOUGH - 1, ENOUGH - 1, ENOUGH);
    assert_false(confidence.doubted);
}

static void runs_go_on_as_long_as_half_of_them_did(void **state)
{
    (void)state;
    struct sl_confidence confidence = doubting(15, SL_CONFIDENCE_RUNS);
    assert_int_equal(sl_confidence_left(&confidence, 4, PERIOD), 11);
    assert_int_equal(sl_confidence_left(&confidence, 15, PERIOD), 0);
    sl_confidence_ended(&confidence, 40); /* one of sixteen */
    assert_int_equal(sl_confidence_left(&confidence, 15, PERIOD), 0);
    assert_int_equal(sl_confidence_left(&confidence, 16, PERIOD), 16);
    assert_int_equal(sl_confidence_left(&confidence, 30, PERIOD), 10);
    for (int i = 0; i < 8; i++) sl_confidence_ended(&confidence, 40);
    assert_int_equal(sl_confidence_left(&confidence, 4, PERIOD), 36);
    for (int i = 0; i < 100; i++) sl_confidence_ended(&confidence, SL_STEADY_STREAK - 1); /* no run at all */
    assert_int_equal(sl_confidence_left(&confidence, 4, PERIOD), 36);
}

static void a_run_that_is_longer_than_all_goes_on_as_long_again(void **state)
{
    (void)state;
    struct sl_confidence confidence = doubting(15, SL_CONFIDENCE_RUNS);
    assert_int_equal(sl_confidence_left(&confidence, 16, PERIOD),
                     16); /* the first iteration that is like another */
    assert_int_equal(sl_confidence_left(&confidence, PERIOD - 1, PERIOD), PERIOD - 1);
    assert_true(confidence.doubted);
}

/* What was wasted before does not count twice. */
static void who_repeats_a_period_is_believed_again(void **state)
{
    (void)state;
    struct sl_confidence confidence = doubting(15, SL_CONFIDENCE_RUNS);
    uint64_t ahead = 2 * ENOUGH, unused = ENOUGH;
    sl_confidence_judge(&confidence, ahead, unused, ENOUGH);
    assert_int_equal(sl_confidence_left(&confidence, 16, 17), 16);
    assert_int_equal(sl_confidence_left(&confidence, 16, 0), 16);
    assert_true(sl_confidence_left(&confidence, 17, 17) == SIZE_MAX);
    sl_confidence_judge(&confidence, ahead + ENOUGH, unused, ENOUGH);
    assert_false(confidence.doubted);
    sl_confidence_judge(&confidence, ahead + 2 * ENOUGH, unused + ENOUGH, ENOUGH);
    assert_true(confidence.doubted);
}

/* A period that is shorter than what always came so far says nothing. */
static void who_is_as_regular_as_ever_is_not_believed_again(void **state)
{
    (void)state;
    struct sl_confidence confidence = doubting(15, SL_CONFIDENCE_RUNS);
    assert_int_equal(sl_confidence_left(&confidence, 14, 2), 1);
    assert_true(confidence.doubted);
}

/* Two chunks have room; six are used in turn, again and again. */
static void a_plan_ends_where_belief_does(void **state)
{
    (void)state;
    enum { CHUNKS = 6, LAUNCHES = 24, BELIEVED = 5 };
    struct sl_plan_launch launches[LAUNCHES];
    struct sl_plan_access accesses[LAUNCHES];
    uint64_t bytes[CHUNKS];
    enum sl_chunk_content content[CHUNKS];
    for (uint32_t t = 0; t < LAUNCHES; t++) {
        launches[t] = (struct sl_plan_launch){.first_access = t, .access_count = 1, .duration_ns = 1000};
        accesses[t] = (struct sl_plan_access){t % CHUNKS};
    }
    for (int c = 0; c < CHUNKS; c++) {
        bytes[c] = 1000;
        content[c] = c < 2 ? SL_CONTENT_RESIDENT : SL_CONTENT_HOST;
    }
    struct sl_plan_input input = {.first_tick = 10,
                                  .launches = launches,
                                  .launch_count = LAUNCHES,
                                  .believed = BELIEVED,
                                  .accesses = accesses,
                                  .chunk_count = CHUNKS,
                                  .chunk_bytes = bytes,
                                  .content = content,
                                  .budget_bytes = 2000,
                                  .in_bytes_per_s = 1000000000,
                                  .out_bytes_per_s = 1000000000};
    struct sl_plan plan;
    assert_int_equal(sl_plan_make(&input, NULL, &plan), SL_OK);
    unsigned came = 0, left = 0;
    for (size_t a = 0; a < plan.action_count; a++) {
        const struct sl_plan_action *action = &plan.actions[a];
        assert_true(action->deadline < input.first_tick + BELIEVED);
        if (action->kind == SL_ACTION_EVICT) {
            left++;
            continue;
        }
        assert_int_equal(action->kind, SL_ACTION_FETCH);
        came++;
        assert_true(action->frame_from < a && plan.actions[action->frame_from].kind == SL_ACTION_EVICT);
    }
    assert_int_equal(came, BELIEVED - 2); /* for the launches behind the first two */
    assert_int_equal(left, came);
    sl_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_is_believed),
        cmocka_unit_test(only_lately_counts),
        cmocka_unit_test(too_little_is_no_evidence),
        cmocka_unit_test(runs_go_on_as_long_as_half_of_them_did),
        cmocka_unit_test(a_run_that_is_longer_than_all_goes_on_as_long_again),
        cmocka_unit_test(who_repeats_a_period_is_believed_again),
        cmocka_unit_test(who_is_as_regular_as_ever_is_not_believed_again),
        cmocka_unit_test(a_plan_ends_where_belief_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
