/* Where a plan stands after launches that nobody predicted: breaks if it is taken for a place where other
 * launches follow, or if a place is not found again. */
#include "core/plan_delay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define LAUNCHES 40 /* a period; each has an allocation in front of it */
#define WINDOW (3 * LAUNCHES)
#define FIRST 1000 /* tick of the plan's first launch, the first one of a period */

static struct sl_symbols symbols;
static sl_symbol launch_symbols[LAUNCHES], alloc_symbols[LAUNCHES], odd;
static sl_symbol planned[WINDOW];
static struct sl_steps steps = {.first_tick = FIRST, .window = WINDOW, .symbols = planned};
static struct sl_predictor *predictor;

static sl_symbol make(enum sl_symbol_kind kind, uint64_t hash)
{
    struct sl_symbol_record record = {.kind = kind};
    return sl_symbols_intern(&symbols, sl_mix(hash), record, NULL);
}

static void feed(size_t launch)
{
    sl_predictor_feed(predictor, alloc_symbols[launch % LAUNCHES]);
    sl_predictor_feed(predictor, launch_symbols[launch % LAUNCHES]);
}

/* Four periods, and `more` launches of the fifth, which is the plan's first. */
static void begin(size_t more)
{
    sl_predictor_clear(predictor);
    for (size_t l = 0; l < 4 * LAUNCHES + more; l++) feed(l);
}

static void is_at(size_t launch, int64_t wanted)
{
    int64_t delay = 99;
    assert_true(sl_plan_delay(predictor, &symbols, &steps, FIRST + launch, &delay));
    assert_int_equal(delay, wanted);
}

static void an_odd_launch_in_place_of_another_changes_nothing(void **state)
{
    (void)state;
    begin(10);
    is_at(10, 0);
    sl_predictor_feed(predictor, odd);
    for (size_t l = 11; l < 14; l++) feed(l);
    is_at(14, 0);
}

static void launches_too_many_delay_the_plan(void **state)
{
    (void)state;
    begin(10);
    for (int i = 0; i < 3; i++) sl_predictor_feed(predictor, odd);
    for (size_t l = 10; l < 14; l++) feed(l);
    is_at(14 + 3, 3);
}

static void launches_too_few_bring_it_forward(void **state)
{
    (void)state;
    begin(10);
    for (size_t l = 12; l < 16; l++) feed(l);
    is_at(16 - 2, -2);
}

static void what_is_far_away_is_not_the_plan(void **state)
{
    (void)state;
    int64_t delay;
    begin(10);
    assert_true(sl_plan_delay(predictor, &symbols, &steps, FIRST + 10 + SL_DELAY_MOST, &delay));
    assert_int_equal(delay, SL_DELAY_MOST);
    assert_false(sl_plan_delay(predictor, &symbols, &steps, FIRST + 10 + SL_DELAY_MOST + 1, &delay));
    assert_false(sl_plan_delay(predictor, &symbols, &steps, FIRST + WINDOW + LAUNCHES, &delay));
}

/* A plan by a profile begins with the program's first launches, of which some do not come. */
static void no_plan_begins_before_the_first_tick(void **state)
{
    (void)state;
    int64_t delay;
    struct sl_steps early = steps;
    begin(10);
    early.first_tick = 4;
    assert_true(sl_plan_delay(predictor, &symbols, &early, 4 + 10 - 3, &delay));
    assert_int_equal(delay, -3);
    early.first_tick = 3;
    assert_false(sl_plan_delay(predictor, &symbols, &early, 3 + 10 - 3, &delay));
}

/* Seven launches that are the plan's, and one that is not. */
static void another_way_is_not_the_plan(void **state)
{
    (void)state;
    int64_t delay;
    begin(10);
    planned[10 + SL_DELAY_LAUNCHES - 1] = odd;
    bool found = sl_plan_delay(predictor, &symbols, &steps, FIRST + 10, &delay);
    planned[10 + SL_DELAY_LAUNCHES - 1] = launch_symbols[10 + SL_DELAY_LAUNCHES - 1];
    assert_false(found);
}

static void nothing_predicted_is_no_place(void **state)
{
    (void)state;
    int64_t delay;
    sl_predictor_clear(predictor);
    assert_false(sl_plan_delay(predictor, &symbols, &steps, FIRST, &delay));
}

static int start(void **state)
{
    (void)state;
    predictor = sl_predictor_new(10000);
    if (!predictor || !sl_symbols_init(&symbols)) return -1;
    for (uint64_t l = 0; l < LAUNCHES; l++) {
        launch_symbols[l] = make(SL_SYMBOL_LAUNCH, l);
        alloc_symbols[l] = make(SL_SYMBOL_ALLOC, LAUNCHES + l);
    }
    odd = make(SL_SYMBOL_LAUNCH, 2 * LAUNCHES);
    for (size_t l = 0; l < WINDOW; l++) planned[l] = launch_symbols[l % LAUNCHES];
    return 0;
}

static int stop(void **state)
{
    (void)state;
    sl_predictor_delete(predictor);
    sl_symbols_close(&symbols);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_odd_launch_in_place_of_another_changes_nothing),
        cmocka_unit_test(another_way_is_not_the_plan),
        cmocka_unit_test(launches_too_few_bring_it_forward),
        cmocka_unit_test(launches_too_many_delay_the_plan),
        cmocka_unit_test(no_plan_begins_before_the_first_tick),
        cmocka_unit_test(nothing_predicted_is_no_place),
        cmocka_unit_test(what_is_far_away_is_not_the_plan),
    };
    return cmocka_run_group_tests_name("plan delay", tests, start, stop);
}
