/* Where a plan stands after launches that nobody predicted: breaks if it is taken for a place where other
 * launches follow, or if a place is not found again. */
#include "core/planning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"

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

/* --- A plan that takes over some launches after those that it was made for: nothing is missed from then on,
 * and the budget is kept. Each test is a process of its own, since the core runs once. */

#define BLOCKS 48 /* of a chunk each: half as much again as the budget */
#define BUDGET (64 * SL_MIB)
#define NEVER (UINT64_MAX / 2)

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernel = {"kernel", 2, offsets, sizes};
static uint64_t blocks[BLOCKS];
static int at;

static void run(int launches)
{
    for (; launches > 0; launches--, at++) {
        void *parameters[] = {&blocks[at % BLOCKS], &blocks[at % BLOCKS * 5 % BLOCKS]};
        core_launch(core_kernel(&kernel, parameters, 1));
    }
}

/* Runs so many launches on demand after a plan was asked for, then by the plan; exits with what went wrong.
 */
static void switch_after(int launches, bool follows)
{
    setenv("SLUICE_DAEMON", "inline", 1);
    if (core_start(NULL)) _exit(1);
    for (int b = 0; b < BLOCKS; b++) blocks[b] = core_take(2 * SL_MIB);
    struct sl_core *core = sl_core_running();
    core->planning.begun_at = NEVER; /* nobody else plans */
    run(10 * BLOCKS + 7);
    struct sl_forecast forecast = {.core = core};
    enum sl_status status = sl_forecast_begin(&forecast);
    if (status || !sl_forecast_step(&forecast, SIZE_MAX, &status) || status) _exit(4);
    struct sl_plan_job job = {.input = sl_forecast_input(&forecast),
                              .serve = forecast.served_launches,
                              .at_end = forecast.at_end.content};
    sl_plan_job_make(&job);
    if (job.status) _exit(5);
    run(launches);
    sl_lock(&core->migrator.out.lock);
    sl_lock(&core->migrator.in.lock);
    sl_plan_switch(&core->planning, &job, follows);
    sl_unlock(&core->migrator.in.lock);
    sl_unlock(&core->migrator.out.lock);
    uint64_t misses = core->stats.total.demand_misses;
    run((int)job.serve - launches - 1);
    const struct sl_host_books *books = sl_backend_host_books(&core->backend);
    if (core->stats.total.demand_misses != misses || core->stats.total.mispredictions) _exit(6);
    if (books->wrong || books->peak_resident_bytes > BUDGET) _exit(7);
    sl_plan_job_free(&job);
    sl_forecast_close(&forecast);
    core_stop(NULL);
    _exit(0);
}

static void check(int launches, bool follows)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) switch_after(launches, follows);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_plan_may_begin_at_once(void **state)
{
    (void)state;
    check(0, false);
    check(0, true);
}

static void a_late_plan_puts_right_what_happened_meanwhile(void **state)
{
    (void)state;
    for (int launches = 1; launches < 120; launches += 1 + launches / 4) check(launches, launches % 2);
}

int main(void)
{
    const struct CMUnitTest plan_delay_tests[] = {
        cmocka_unit_test(an_odd_launch_in_place_of_another_changes_nothing),
        cmocka_unit_test(another_way_is_not_the_plan),
        cmocka_unit_test(launches_too_few_bring_it_forward),
        cmocka_unit_test(launches_too_many_delay_the_plan),
        cmocka_unit_test(no_plan_begins_before_the_first_tick),
        cmocka_unit_test(nothing_predicted_is_no_place),
        cmocka_unit_test(what_is_far_away_is_not_the_plan),
    };
    const struct CMUnitTest plan_switch_tests[] = {
        cmocka_unit_test(a_plan_may_begin_at_once),
        cmocka_unit_test(a_late_plan_puts_right_what_happened_meanwhile),
    };
    int failed = cmocka_run_group_tests_name("plan delay", plan_delay_tests, start, stop);
    failed += cmocka_run_group_tests(plan_switch_tests, NULL, NULL);
    return failed;
}
