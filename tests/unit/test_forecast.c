/* What is said to follow: the same however many steps it is made in, whatever of it happens meanwhile, and
 * when one forecast goes on where another ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/forecast.h"
#include "core_fixture.h"

#define BLOCKS 40 /* of a chunk each: more than the budget */
#define PERIOD 60 /* launches */

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernel = {"kernel", 2, offsets, sizes};
static uint64_t blocks[BLOCKS], passing, at;

/* The next launch of the program: each third uses memory that lives for two launches. */
static void next(void)
{
    int i = (int)(at++ % PERIOD);
    if (i % 3 == 0) passing = core_take_at((uint64_t)i, (uint64_t)(1 + i % 5) * SL_MIB);
    void *parameters[] = {&blocks[i % BLOCKS], i % 3 == 2 ? &blocks[(i * 7) % BLOCKS] : &passing};
    core_launch(core_kernel(&kernel, parameters, 1 + (uint32_t)(i / BLOCKS)));
    if (i % 3 == 1) assert_int_equal(sl_runtime_free(passing, NULL), SL_OK);
}

static void run(int launches)
{
    while (launches--) next();
}

/* To where nothing lives that dies soon. */
static void run_periods(int count)
{
    do {
        next();
    } while (at % PERIOD);
    run((count - 1) * PERIOD);
}

static int calls_until_failure; /* of realloc; 0: none fails */

void *__real_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes)
{
    return calls_until_failure && --calls_until_failure == 0 ? NULL : __real_realloc(old, bytes);
}

static void begin(struct sl_forecast *forecast)
{
    forecast->core = sl_core_running();
    assert_int_equal(sl_forecast_begin(forecast), SL_OK);
}

/* Makes it in steps of `units`, with a launch after each if `meanwhile`. */
static void finish(struct sl_forecast *forecast, size_t units, bool meanwhile)
{
    enum sl_status status = SL_OK;
    while (!sl_forecast_step(forecast, units, &status))
        if (meanwhile) next();
    assert_int_equal(status, SL_OK);
}

static void assert_same_launch(const struct sl_forecast *a, const struct sl_forecast *b, size_t t)
{
    const struct sl_plan_launch *x = &a->window.launches[t], *y = &b->window.launches[t];
    assert_int_equal(x->access_count, y->access_count);
    for (uint32_t i = 0; i < x->access_count; i++) {
        const struct sl_plan_access *p = &a->window.accesses[x->first_access + i],
                                    *q = &b->window.accesses[y->first_access + i];
        assert_true(p->chunk == q->chunk && p->bytes == q->bytes);
    }
    assert_int_equal(x->death_count, y->death_count);
    for (uint32_t i = 0; i < x->death_count; i++)
        assert_int_equal(a->window.deaths[x->first_death + i], b->window.deaths[y->first_death + i]);
}

/* Of launches from `from` on. */
static void assert_same(const struct sl_forecast *a, const struct sl_forecast *b, size_t from)
{
    assert_int_equal(a->first_tick, b->first_tick);
    assert_int_equal(a->window.launch_count, b->window.launch_count);
    assert_int_equal(a->served_launches, b->served_launches);
    for (size_t t = from; t < a->window.launch_count; t++) assert_same_launch(a, b, t);
    assert_memory_equal(a->at_end.live, b->at_end.live, a->window.chunks * sizeof *a->at_end.live);
}

static void it_says_what_follows(void **state)
{
    (void)state;
    struct sl_forecast forecast = {0};
    run_periods(20);
    begin(&forecast);
    finish(&forecast, SIZE_MAX, false);
    struct sl_plan_input input = sl_forecast_input(&forecast);
    assert_int_equal(input.first_tick, sl_core_running()->history.ticks.now + 1);
    assert_in_range(input.launch_count, 3 * PERIOD, 1000);
    assert_in_range(forecast.served_launches, PERIOD, input.launch_count / 2);
    for (size_t t = 0; t < input.launch_count; t++) {
        const struct sl_plan_launch *launch = &input.launches[t];
        int i = (int)(t % PERIOD);
        assert_in_range(launch->access_count, 1, 4);
        assert_int_equal(input.accesses[launch->first_access].chunk,
                         sl_arena_chunk(&sl_core_running()->arena, blocks[i % BLOCKS]));
        uint64_t bytes = 0, other = i % 3 == 2 ? 2 : 1 + (uint64_t)(i - i % 3) % 5;
        for (uint32_t k = 0; k < launch->access_count; k++)
            bytes += input.accesses[launch->first_access + k].bytes;
        assert_int_equal(bytes, (2 + other) * SL_MIB);
        /* Alone in its chunks, or beside another one of the small. */
        if (i % 3 != 1) assert_int_equal(launch->death_count, 0);
        if (i % 3 == 1 && (i - 1) % 5 == 4) assert_int_equal(launch->death_count, 3);
    }
    sl_forecast_close(&forecast);
}

static void steps_change_nothing(void **state)
{
    (void)state;
    struct sl_forecast whole = {0}, sliced = {0};
    run_periods(4);
    begin(&whole);
    begin(&sliced);
    finish(&whole, SIZE_MAX, false);
    finish(&sliced, 1, false);
    assert_same(&whole, &sliced, 0);
    assert_int_equal(whole.window.access_count, sliced.window.access_count);
    assert_memory_equal(whole.window.stock.content, sliced.window.stock.content,
                        whole.window.chunks * sizeof *whole.window.stock.content);
    sl_forecast_close(&whole);
    sl_forecast_close(&sliced);
}

static void neither_does_what_happens_meanwhile(void **state)
{
    (void)state;
    for (size_t units = 7; units < 400; units += 29) {
        struct sl_forecast whole = {0}, sliced = {0};
        run_periods(3);
        run((int)units % PERIOD / 3 * 3);
        begin(&whole);
        begin(&sliced);
        finish(&whole, SIZE_MAX, false);
        finish(&sliced, units, true);
        assert_same(&whole, &sliced, sl_core_running()->history.ticks.now + 1 - whole.first_tick);
        sl_forecast_close(&whole);
        sl_forecast_close(&sliced);
    }
}

static void one_goes_on_where_the_other_ends(void **state)
{
    (void)state;
    struct sl_forecast first = {0}, fresh = {0};
    run_periods(3);
    begin(&first);
    finish(&first, SIZE_MAX, false);
    run((int)first.served_launches / 2);
    sl_tick end = first.first_tick + first.served_launches;
    memcpy(first.at_end.content, first.window.stock.content,
           first.window.chunks * sizeof *first.window.stock.content);
    assert_int_equal(sl_forecast_continue(&first), SL_OK);
    finish(&first, 50, false);
    while (sl_core_running()->history.ticks.now + 1 < end) next();
    begin(&fresh);
    finish(&fresh, SIZE_MAX, false);
    assert_int_equal(first.first_tick, fresh.first_tick);
    for (size_t t = 0; t < first.window.launch_count && t < fresh.window.launch_count; t++)
        assert_same_launch(&first, &fresh, t);
    sl_forecast_close(&first);
    sl_forecast_close(&fresh);
}

/* Of a long period, `times` times. */
static void run_long_periods(int times)
{
    enum { LAUNCHES = 700 };
    for (int i = 0; i < times * LAUNCHES; i++) {
        int which = i % LAUNCHES;
        void *parameters[] = {&blocks[which % BLOCKS], &blocks[which * 7 % BLOCKS]};
        core_launch(core_kernel(&kernel, parameters, 100 + (uint32_t)(which / BLOCKS)));
    }
}

/* Else each of many mispredictions would cost the work for a long period, and plans would come too late. */
static void what_is_believed_for_a_short_time_has_a_short_window(void **state)
{
    (void)state;
    enum { BELIEVED = 200 };
    struct sl_history *history = &sl_core_running()->history;
    const struct sl_confidence before = history->confidence;
    struct sl_forecast forecast = {0};
    run_long_periods(4);
    begin(&forecast);
    finish(&forecast, SIZE_MAX, false);
    assert_int_equal(forecast.window.launch_count, 3 * 700);
    assert_int_equal(forecast.served_launches, 700);
    history->confidence = (struct sl_confidence){.doubted = true, .count = SL_CONFIDENCE_RUNS};
    for (int i = 0; i < SL_CONFIDENCE_RUNS; i++) history->confidence.runs[i] = history->streak + BELIEVED;
    begin(&forecast);
    finish(&forecast, SIZE_MAX, false);
    assert_int_equal(forecast.window.launch_count, 3 * BELIEVED);
    assert_int_equal(forecast.served_launches, BELIEVED);
    assert_int_equal(sl_forecast_input(&forecast).believed, BELIEVED);
    history->confidence = before;
    sl_forecast_close(&forecast);
}

static void it_does_not_go_on_once_the_program_is_past_it(void **state)
{
    (void)state;
    struct sl_forecast forecast = {0};
    run_periods(3);
    begin(&forecast);
    finish(&forecast, SIZE_MAX, false);
    run((int)forecast.served_launches + 2);
    assert_int_equal(sl_forecast_continue(&forecast), SL_ERR_UNSUPPORTED);
    sl_forecast_close(&forecast);
}

static void it_knows_how_long_launches_take(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    struct sl_forecast forecast = {0};
    run_periods(3);
    begin(&forecast);
    for (size_t t = 0; t < forecast.count; t++)
        if (core->symbols.records[forecast.symbols[t]].kind == SL_SYMBOL_LAUNCH)
            for (int i = 0; i < SL_DURATION_SAMPLES; i++)
                sl_durations_note(&core->sampling.durations, forecast.symbols[t], 0, 0,
                                  SL_DURATION_STEP_NS * (1 + (uint64_t)forecast.symbols[t]));
    finish(&forecast, SIZE_MAX, false);
    struct sl_plan_input input = sl_forecast_input(&forecast);
    for (size_t l = 0; l < input.launch_count; l++) {
        assert_int_equal(core->symbols.records[input.symbols[l]].kind, SL_SYMBOL_LAUNCH);
        assert_int_equal(input.launches[l].duration_ns,
                         SL_DURATION_STEP_NS * (1 + (uint64_t)input.symbols[l]));
    }
    sl_forecast_close(&forecast);
}

/* Whatever array could not grow is tried again by the next forecast, which needs them all. */
static void it_can_be_made_once_there_is_memory_again(void **state)
{
    (void)state;
    struct sl_forecast fresh = {0};
    bool failed = true;
    int refused = 0;
    run_periods(4);
    begin(&fresh);
    finish(&fresh, SIZE_MAX, false);
    for (int call = 1; failed; call++) {
        struct sl_forecast forecast = {0};
        forecast.core = sl_core_running();
        calls_until_failure = call;
        enum sl_status status = sl_forecast_begin(&forecast);
        if (status == SL_OK) sl_forecast_step(&forecast, SIZE_MAX, &status);
        failed = !calls_until_failure;
        calls_until_failure = 0;
        refused += status == SL_ERR_NO_MEMORY;
        begin(&forecast);
        finish(&forecast, SIZE_MAX, false);
        assert_same(&fresh, &forecast, 0);
        sl_forecast_close(&forecast);
    }
    assert_true(refused > 10);
    sl_forecast_close(&fresh);
}

static int start(void **state)
{
    setenv("SLUICE_DAEMON", "inline", 1);
    if (core_start(state)) return -1;
    for (int b = 0; b < BLOCKS; b++) blocks[b] = core_take(2 * SL_MIB);
    return 0;
}

static uint64_t use(uint64_t address)
{
    void *parameters[] = {&address, &address};
    core_launch(core_kernel(&kernel, parameters, 9));
    return address;
}

static void drop(uint64_t address)
{
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
}

/* The same slot twice in a period, in two places: something else lies where it was. */
static void move(uint64_t places[2])
{
    uint64_t before = core_take_at(101, 2 * SL_MIB);
    drop(places[0] = use(core_take_at(100, 2 * SL_MIB)));
    uint64_t behind = core_take_at(102, 2 * SL_MIB);
    drop(before);
    drop(places[1] = use(core_take_at(100, 2 * SL_MIB)));
    drop(behind);
}

static void allocations_lie_where_they_lay_a_period_ago(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    struct sl_forecast forecast = {0};
    uint64_t places[2];
    for (int i = 0; i < 20; i++) move(places);
    assert_int_not_equal(places[0], places[1]);
    begin(&forecast);
    finish(&forecast, SIZE_MAX, false);
    struct sl_plan_input input = sl_forecast_input(&forecast);
    for (size_t l = 0; l < input.launch_count; l++) {
        assert_int_equal(input.launches[l].access_count, 1);
        assert_int_equal(input.accesses[input.launches[l].first_access].chunk,
                         sl_arena_chunk(&core->arena, places[l % 2]));
    }
    uint64_t strays = core->history.strays;
    for (int i = 0; i < 20; i++) move(places);
    assert_int_equal(core->history.strays, strays);
    sl_forecast_close(&forecast);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_follows),
        cmocka_unit_test(steps_change_nothing),
        cmocka_unit_test(neither_does_what_happens_meanwhile),
        cmocka_unit_test(one_goes_on_where_the_other_ends),
        cmocka_unit_test(what_is_believed_for_a_short_time_has_a_short_window),
        cmocka_unit_test(it_does_not_go_on_once_the_program_is_past_it),
        cmocka_unit_test(it_knows_how_long_launches_take),
        cmocka_unit_test(it_can_be_made_once_there_is_memory_again),
        cmocka_unit_test(allocations_lie_where_they_lay_a_period_ago),
    };
    return cmocka_run_group_tests(tests, start, core_stop);
}
