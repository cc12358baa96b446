/* Comparison of traces: when a difference matters, which iterations are steady, what each took, how launch
 * times are known. */
#include "tools/analyses/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace_file.h"
#include "training.h"

enum { LAYERS = 6, STEPS = 5, MICRO = 2, TENSOR = 4 << 20 };

static struct model *model_of(const struct sl_event *events, size_t count)
{
    struct trace_bytes trace = trace_build(events, count, count, true);
    FILE *stream = fmemopen(trace.bytes, trace.size, "rb");
    struct sl_trace_reader *reader;
    struct sl_trace_problem problem;
    struct progress progress = {0};
    struct model *model;
    assert_non_null(stream);
    assert_int_equal(sl_trace_reader_open_stream(stream, &reader, &problem), SL_OK);
    assert_true(model_read(reader, &progress, &model));
    sl_trace_reader_close(reader);
    fclose(stream);
    free(trace.bytes);
    return model;
}

static struct model *training_model(unsigned steps)
{
    size_t count;
    const struct sl_event *events =
        training_events((struct training){.layers = LAYERS, .steps = steps, .micro = MICRO}, &count);
    return model_of(events, count);
}

static void threshold_is_exceeded(void **state)
{
    (void)state;
    assert_int_equal(diff_compare(1000, 1000, 0, 0, 0), DIFF_SAME);
    assert_int_equal(diff_compare(1000, 1001, 0, 0, 0), DIFF_MORE);
    assert_int_equal(diff_compare(1000, 1020, 0, 0, 2), DIFF_SAME);
    assert_int_equal(diff_compare(1000, 1021, 0, 0, 2), DIFF_MORE);
    assert_int_equal(diff_compare(0, 1, 0, 0, 2), DIFF_MORE);
    assert_int_equal(diff_compare(1, 0, 0, 0, 2), DIFF_LESS);
    assert_int_equal(diff_compare(UINT64_MAX, 1, 0, UINT64_MAX, 2), DIFF_LESS);
    /* of a whole: a tenth of the threshold */
    assert_int_equal(diff_compare(10, 30, 0, 10000, 2), DIFF_SAME);
    assert_int_equal(diff_compare(10, 31, 0, 10000, 2), DIFF_MORE);
}

static void noise_is_within_the_spread(void **state)
{
    (void)state;
    assert_int_equal(diff_compare(1000, 1100, 100, 0, 2), DIFF_NOISE);
    assert_int_equal(diff_compare(1000, 1101, 100, 0, 2), DIFF_MORE);
    /* What is too small is not noise, too. */
    assert_int_equal(diff_compare(1000, 1010, 100, 0, 2), DIFF_SAME);
    uint64_t calm[] = {10, 10, 10}, wild[] = {9, 20, 31};
    struct spread of[DIFF_SIDES] = {spread_of(calm, 3), spread_of(wild, 3)};
    assert_int_equal(diff_compare_spreads(of, 0, 2), DIFF_NOISE);
}

/* Otherwise B could be worse than A, and A worse than B. */
static void order_mirrors(void **state)
{
    (void)state;
    static const enum diff_state mirrored[] = {
        [DIFF_SAME] = DIFF_SAME, [DIFF_NOISE] = DIFF_NOISE, [DIFF_MORE] = DIFF_LESS, [DIFF_LESS] = DIFF_MORE};
    for (uint64_t a = 0; a < 60; a++)
        for (uint64_t b = 0; b < 60; b++)
            for (uint64_t threshold = 0; threshold < 40; threshold += 13)
                assert_int_equal(diff_compare(a, b, 5, 70, threshold),
                                 mirrored[diff_compare(b, a, 5, 70, threshold)]);
}

static void width_is_that_of_half_or_of_few(void **state)
{
    (void)state;
    uint64_t few[] = {5, 1, 3, 2, 4, 6, 100}, many[] = {1, 2, 3, 4, 5, 6, 7, 8, 1000};
    struct spread spread = spread_of(few, 7);
    assert_int_equal(spread_width(&spread), 99);
    spread = spread_of(many, 9);
    assert_int_equal(spread_width(&spread), 4);
    assert_int_equal(spread.median, 5);
    spread = spread_of(many, 0);
    assert_int_equal(spread_width(&spread), 0);
}

static void steady_steps_are_of_the_second_half(void **state)
{
    (void)state;
    struct model *model = training_model(STEPS);
    struct phases phases;
    struct steady steady;
    assert_true(phases_find(model, &phases));
    assert_int_equal(phases.step_count, STEPS);
    assert_int_equal(steady_kind_of(model, &phases, STEADY_STEPS), STEADY_STEPS);
    steady_find(model, &phases, STEADY_STEPS, &steady);
    assert_int_equal(steady.count, 3);
    assert_int_equal(steady.first, 3);
    assert_int_equal(steady.total, STEPS);
    for (uint32_t l = 0; l < model->launches.count; l++) {
        uint32_t wanted = SL_NONE;
        for (uint32_t i = 0; i < steady.count; i++)
            if (l >= phases.steps[2 + i].begin && l < phases.steps[2 + i].end) wanted = i;
        assert_int_equal(steady_of_launch(&steady, l), wanted);
        assert_int_equal(steady_of_tick(model, &steady, model->launches.at[l].tick), wanted);
    }
    steady_find(model, &phases, STEADY_RUN, &steady);
    assert_int_equal(steady.count, 1);
    assert_int_equal(steady.at[0].end, model->launches.count);
    phases_free(&phases);
    model_close(model);
}

static void figures_of_a_step(void **state)
{
    (void)state;
    struct model *model = training_model(STEPS);
    struct phases phases;
    struct steady steady;
    struct figures figures;
    assert_true(phases_find(model, &phases));
    steady_find(model, &phases, STEADY_STEPS, &steady);
    assert_true(figures_make(model, &phases, &steady, &figures));
    assert_int_equal(figures.count, steady.count);
    assert_true(figures.classes_known && figures.moved_classes && !figures.by_lives);
    for (uint32_t i = 0; i < figures.count; i++) {
        const uint64_t *of = figures.of[i];
        uint64_t fetched = 0, evicted = 0;
        assert_int_equal(of[FIGURE_LAUNCHES], steady.at[i].end - steady.at[i].begin);
        /* In each step, the optimizer's states come, the first of them on demand, and leave again. */
        assert_int_equal(of[FIGURE_FETCHED_BY + SL_CAUSE_PLAN], (LAYERS - 1) * TENSOR);
        assert_int_equal(of[FIGURE_FETCHED_BY + SL_CAUSE_DEMAND], TENSOR);
        assert_int_equal(of[FIGURE_FETCHED], LAYERS * TENSOR);
        assert_int_equal(of[FIGURE_FETCHED_OF + CLASS_OPTIMIZER], LAYERS * TENSOR);
        assert_int_equal(of[FIGURE_EVICTED_OF + CLASS_OPTIMIZER], of[FIGURE_EVICTED]);
        assert_int_equal(of[FIGURE_STALLS], 1);
        assert_int_equal(of[FIGURE_STALLED], 50000);
        assert_int_equal(of[FIGURE_DEVICE_TIME], of[FIGURE_KERNELS] + 50000);
        for (unsigned c = 0; c < CLASS_COUNT; c++) {
            fetched += of[FIGURE_FETCHED_OF + c];
            evicted += of[FIGURE_EVICTED_OF + c];
            assert_true(of[FIGURE_MEAN_OF + c] <= of[FIGURE_PEAK_OF + c]);
        }
        assert_int_equal(fetched, of[FIGURE_FETCHED]);
        assert_int_equal(evicted, of[FIGURE_EVICTED]);
        assert_int_equal(of[FIGURE_PEAK_OF + CLASS_PARAMETER], LAYERS * TENSOR);
        assert_int_equal(of[FIGURE_PEAK_OF + CLASS_GRADIENT], LAYERS * TENSOR);
        assert_int_equal(of[FIGURE_PEAK_OF + CLASS_ACTIVATION], LAYERS * TENSOR);
        assert_int_equal(of[FIGURE_PEAK_OF + CLASS_OPTIMIZER], TENSOR);
        assert_true(of[FIGURE_NEED] >= 4 * LAYERS * TENSOR);
    }
    figures_free(&figures);
    phases_free(&phases);
    model_close(model);
}

static void times_come_from_alike_launches(void **state)
{
    (void)state;
    const struct sl_event events[] = {
        {.type = SL_EVENT_ALLOC, .id = 0, .time_ns = 1, .a = 4096, .b = 4096},
        {.type = SL_EVENT_ALLOC, .id = 1, .time_ns = 1, .a = 8192, .b = 4096},
        {.type = SL_EVENT_LAUNCH, .id = 1, .tick = 1, .time_ns = 10, .b = 64},
        {.type = SL_EVENT_ACCESS, .id = 0, .tick = 1, .time_ns = 10, .b = 4096},
        {.type = SL_EVENT_LAUNCH, .id = 1, .tick = 2, .time_ns = 20, .b = 64}, /* the same on other data */
        {.type = SL_EVENT_ACCESS, .id = 1, .tick = 2, .time_ns = 20, .b = 4096},
        {.type = SL_EVENT_LAUNCH, .id = 1, .tick = 3, .time_ns = 30, .b = 128}, /* a larger one */
        {.type = SL_EVENT_LAUNCH, .id = 2, .tick = 4, .time_ns = 40, .b = 64},
        {.type = SL_EVENT_DURATION, .id = 1, .tick = 1, .time_ns = 50, .a = 700},
        {.type = SL_EVENT_KERNEL, .id = 1, .time_ns = 5, .text = "one"},
        {.type = SL_EVENT_KERNEL, .id = 2, .time_ns = 5, .text = "two"},
    };
    struct model *model = model_of(events, sizeof(events) / sizeof(*events));
    struct launch_clock clock;
    assert_true(launch_clock_make(model, &clock));
    const uint8_t sources[] = {TIME_MEASURED, TIME_ALIKE, TIME_GUESSED, TIME_UNKNOWN};
    const uint64_t times[] = {700, 700, 700, 0};
    for (unsigned l = 0; l < 4; l++) {
        assert_int_equal(clock.source[l], sources[l]);
        assert_int_equal(clock.ns[l], times[l]);
    }
    launch_clock_free(&clock);
    model_close(model);
}

static void a_device_may_have_its_own_clock(void **state)
{
    (void)state;
    for (unsigned early = 0; early < 3; early++) {
        struct sl_event events[] = {
            {.type = SL_EVENT_METADATA,
             .time_ns = 1,
             .text = early == 2 ? "device=softcuda x" : "device=GPU"},
            {.type = SL_EVENT_LAUNCH, .id = 1, .tick = 1, .time_ns = 9000000, .b = 64},
            {.type = SL_EVENT_DURATION, .id = 1, .tick = 1, .time_ns = 9000001, .a = 7, .b = 9000000},
        };
        if (early == 1) events[2].b = 5000000;
        struct model *model = model_of(events, 3);
        assert_int_equal(has_own_clock(model), early > 0);
        model_close(model);
    }
}

static void one_trace_does_not_differ_from_itself(void **state)
{
    (void)state;
    struct model *model = training_model(STEPS);
    struct diff diff;
    assert_true(diff_make(model, model, 0, &diff));
    for (unsigned f = 0; f < FIGURE_COUNT; f++) assert_int_equal(diff.figures[f].state, DIFF_SAME);
    assert_true(diff.kernel_count > 0 && diff.site_count > 0);
    for (size_t k = 0; k < diff.kernel_count; k++) assert_int_equal(diff.kernels[k].state, DIFF_SAME);
    for (size_t i = 0; i < diff.site_count; i++) assert_int_equal(diff.sites[i].state, DIFF_SAME);
    assert_int_equal(diff_verdict(&diff), DIFF_SAME);
    diff_free(&diff);
    model_close(model);
}

/* A trace with steps, and one in which only repetitions were found, are compared by what both have. */
static void both_have_iterations_of_one_kind(void **state)
{
    (void)state;
    struct sl_event events[40];
    size_t count = 0;
    for (unsigned i = 0; i < 12; i++) {
        events[count++] = (struct sl_event){
            .type = SL_EVENT_LAUNCH, .id = 1, .tick = i + 1, .time_ns = 1000 * (i + 1), .b = 64};
        events[count++] = (struct sl_event){
            .type = SL_EVENT_ITERATION, .id = i + 1, .tick = i + 1, .time_ns = 1000 * (i + 1) + 1, .a = 1};
    }
    struct model *repeats = model_of(events, count), *steps = training_model(STEPS);
    struct diff diff;
    assert_true(diff_make(repeats, repeats, 2, &diff));
    assert_int_equal(diff.sides[DIFF_A].steady.kind, STEADY_REPETITIONS);
    diff_free(&diff);
    assert_true(diff_make(steps, repeats, 2, &diff));
    assert_int_equal(diff.sides[DIFF_A].steady.kind, diff.sides[DIFF_B].steady.kind);
    assert_true(diff.sides[DIFF_A].steady.kind > STEADY_STEPS);
    assert_true(diff.sides[DIFF_A].steady.count && diff.sides[DIFF_B].steady.count);
    diff_free(&diff);
    model_close(repeats);
    model_close(steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threshold_is_exceeded),
        cmocka_unit_test(noise_is_within_the_spread),
        cmocka_unit_test(order_mirrors),
        cmocka_unit_test(width_is_that_of_half_or_of_few),
        cmocka_unit_test(steady_steps_are_of_the_second_half),
        cmocka_unit_test(figures_of_a_step),
        cmocka_unit_test(times_come_from_alike_launches),
        cmocka_unit_test(a_device_may_have_its_own_clock),
        cmocka_unit_test(one_trace_does_not_differ_from_itself),
        cmocka_unit_test(both_have_iterations_of_one_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
