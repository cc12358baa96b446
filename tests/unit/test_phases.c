/* Phases and classes of small runs whose truth is known; ranges that name phases; slabs cut into tensors. */
#include "tools/phases/phases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace_file.h"
#include "training.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

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

/* How many launches of the phase have this name. */
static unsigned count_named(const struct model *model, const struct phases *phases, enum phase phase,
                            const char *name)
{
    unsigned count = 0;
    for (uint32_t l = 0; l < model->launches.count; l++)
        count +=
            phases->of_launch[l] == phase && !strcmp(model_launch_name(model, &model->launches.at[l]), name);
    return count;
}

static uint64_t bytes_of(const struct phases *phases, enum memory_class class)
{
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < phases->segments.count; s++)
        if (phases->class_of[s] == class) bytes += phases->segments.at[s].bytes;
    return bytes;
}

static void check_training(struct training training)
{
    size_t count;
    const struct sl_event *events = training_events(training, &count);
    struct model *model = model_of(events, count);
    struct phases phases;
    unsigned passes = training.steps * training.micro;
    assert_true(phases_find(model, &phases));
    assert_true(phases.found);
    assert_false(phases.marked);
    assert_int_equal(phases.step_count, training.steps);
    assert_int_equal(count_named(model, &phases, PHASE_FORWARD, "layer"), passes * (training.layers - 1));
    assert_int_equal(count_named(model, &phases, PHASE_FORWARD, "loss"), passes);
    assert_int_equal(count_named(model, &phases, PHASE_BACKWARD, "layer_back"),
                     passes * (training.layers - 1));
    assert_int_equal(count_named(model, &phases, PHASE_BACKWARD, "embed_back"), passes);
    unsigned updated = training.layers - training.frozen;
    assert_int_equal(count_named(model, &phases, PHASE_UPDATE, "adam"), training.steps * updated);
    assert_int_equal(count_named(model, &phases, PHASE_EVALUATION, "loss"), training.steps >= 2);
    assert_int_equal(count_named(model, &phases, PHASE_COPY, "copy"),
                     model->launches.count - count_named(model, &phases, PHASE_OTHER, "copy") -
                         (training.varies ? training.layers : 0) -
                         (training.resident ? TRAINING_LAYERS_MAX + 1 : 0) - passes * 2 * training.layers -
                         (training.sharded ? passes + (training.steps >= 2) : 0) - passes -
                         training.steps * updated - (training.steps >= 2) * (training.layers + 1));
    uint64_t tensors = (uint64_t)training.layers * (4 << 20), trained = (uint64_t)updated * (4 << 20);
    assert_true(bytes_of(&phases, CLASS_PARAMETER) == tensors);
    assert_true(bytes_of(&phases, CLASS_GRADIENT) == trained);
    /* What a step does before it uses its batch counts as the end of the step before. */
    assert_in_range(bytes_of(&phases, CLASS_OPTIMIZER), trained, trained + (training.sharded ? 4 << 20 : 0));
    assert_true(bytes_of(&phases, CLASS_ACTIVATION) == tensors);
    phases_free(&phases);
    model_close(model);
}

static void test_micro_batches_and_layers(void **state)
{
    (void)state;
    for (unsigned layers = 3; layers <= 6; layers++)
        for (unsigned micro = 1; micro <= 4; micro++)
            for (unsigned steps = 3; steps <= 5; steps++)
                check_training((struct training){.layers = layers, .steps = steps, .micro = micro});
}

/* Batches padded to their longest: each is allocated at the same place in the program, with another size. */
static void test_batches_of_varying_sizes(void **state)
{
    (void)state;
    for (unsigned micro = 1; micro <= 2; micro++)
        check_training((struct training){.layers = 4, .steps = 5, .micro = micro, .varies = true});
}

/* Memory that is there all the time, and used by forward and backward passes, holds activations. */
static void test_activations_that_stay(void **state)
{
    (void)state;
    check_training((struct training){.layers = 4, .steps = 5, .micro = 2, .resident = true});
}

/* Breaks if steps are cut where launches get their parameters by a copy, amid the backward pass. */
static void test_parameters_in_memory(void **state)
{
    (void)state;
    check_training((struct training){.layers = 5, .steps = 5, .micro = 1, .sharded = true});
}

/* What is made before the first batch, stays, and is not updated. */
static void test_frozen_weights_are_parameters(void **state)
{
    (void)state;
    for (unsigned varies = 0; varies < 2; varies++)
        check_training(
            (struct training){.layers = 4, .steps = 5, .micro = 1, .varies = varies, .frozen = true});
}

static void test_names_of_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum phase phase;
    } names[] = {{"forward", PHASE_FORWARD},
                 {"Model.Forward(x)", PHASE_FORWARD},
                 {"fwd_pass", PHASE_FORWARD},
                 {"AddmmBackward0", PHASE_BACKWARD},
                 {"Optimizer.step#AdamW.step", PHASE_UPDATE},
                 {"weight update", PHASE_UPDATE},
                 {"validation", PHASE_EVALUATION},
                 {"eval step 3", PHASE_EVALUATION},
                 {"data", PHASE_COPY},
                 {"DataLoader", PHASE_COPY},
                 {"nccl:all_reduce", PHASE_COLLECTIVE},
                 {"value head", PHASE_OTHER},
                 {"evaporate", PHASE_OTHER},
                 {"metadata", PHASE_OTHER},
                 {"train step 12", PHASE_OTHER},
                 {"", PHASE_OTHER},
                 {"\xc3\xa9tape", PHASE_OTHER}};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (phase_of_name(names[i].name) != names[i].phase) print_message("%s\n", names[i].name);
        assert_int_equal(phase_of_name(names[i].name), names[i].phase);
    }
}

#define LAUNCH(number)                                                                                       \
    {                                                                                                        \
        .type = SL_EVENT_LAUNCH, .id = 1, .tick = number, .time_ns = 100 * number                            \
    }
#define MARK(time, kind, number, name)                                                                       \
    {                                                                                                        \
        .type = SL_EVENT_MARK, .flags = SL_MARK_##kind, .id = number, .time_ns = time, .text = name          \
    }

static void test_ranges_nest_and_overlap(void **state)
{
    (void)state;
    const struct sl_event events[] = {
        LAUNCH(1),
        MARK(110, PUSH, 0, "forward"),
        LAUNCH(2), /* forward */
        MARK(210, PUSH, 0, "layer 1"),
        LAUNCH(3), /* the inner range names none: forward */
        MARK(310, PUSH, 0, "optimizer"),
        LAUNCH(4), /* what is outside decides: forward */
        MARK(410, POP, 0, ""),
        MARK(420, POP, 0, ""),
        LAUNCH(5), /* forward again */
        MARK(510, BEGIN, 7, "backward"),
        MARK(520, POP, 0, ""),
        LAUNCH(6), /* ranges with numbers do not nest: backward */
        MARK(610, END, 8, ""),
        LAUNCH(7),
        MARK(710, END, 7, ""),
        MARK(720, POP, 0, ""), /* one too many */
        LAUNCH(8),
    };
    static const enum phase wanted[] = {PHASE_OTHER,   PHASE_FORWARD,  PHASE_FORWARD,  PHASE_FORWARD,
                                        PHASE_FORWARD, PHASE_BACKWARD, PHASE_BACKWARD, PHASE_OTHER};
    struct model *model = model_of(events, COUNT(events));
    uint8_t phases[8] = {0};
    assert_true(phases_from_marks(model, phases));
    for (unsigned l = 0; l < 8; l++) assert_int_equal(phases[l], wanted[l]);
    model_close(model);
}

#define ACCESS(number, first, size)                                                                          \
    {                                                                                                        \
        .type = SL_EVENT_ACCESS, .id = 0, .tick = number, .time_ns = 100 * number, .a = first, .b = size     \
    }

/* [0, 100) and [40, 60) and what reaches beyond the end: four segments. */
static void test_a_slab_is_cut_where_ranges_end(void **state)
{
    (void)state;
    const struct sl_event events[] = {{.type = SL_EVENT_ALLOC, .time_ns = 1, .a = 4096, .b = 100},
                                      LAUNCH(1),
                                      ACCESS(1, 0, 100),
                                      LAUNCH(2),
                                      ACCESS(2, 40, 20),
                                      LAUNCH(3),
                                      ACCESS(3, 90, 500),
                                      ACCESS(3, 200, 10)};
    struct model *model = model_of(events, COUNT(events));
    struct segments segments;
    assert_true(segments_make(model, &segments));
    static const uint64_t offsets[] = {0, 40, 60, 90};
    assert_int_equal(segments.count, COUNT(offsets));
    for (unsigned s = 0; s < COUNT(offsets); s++) assert_int_equal(segments.at[s].offset, offsets[s]);
    assert_int_equal(segments.of_range[0].count, 4);
    assert_int_equal(segments.of_range[1].first, 1);
    assert_int_equal(segments.of_range[1].count, 1);
    assert_int_equal(segments.of_range[2].count, 1);
    assert_int_equal(segments.of_range[3].count, 0);
    static const uint32_t holds[][2] = {{0, 0}, {39, 0}, {40, 1}, {59, 1}, {99, 3}, {100, 4}, {1000, 4}};
    for (unsigned i = 0; i < COUNT(holds); i++)
        assert_int_equal(segment_at(&segments, 0, holds[i][0]), holds[i][1]);
    segments_free(&segments);
    model_close(model);
}

static void test_nothing_is_found_in_nothing(void **state)
{
    (void)state;
    const struct sl_event events[] = {LAUNCH(1), LAUNCH(2)};
    for (size_t count = 1; count <= COUNT(events); count++) {
        struct model *model = model_of(events, count);
        struct phases phases;
        assert_true(phases_find(model, &phases));
        assert_false(phases.found);
        assert_int_equal(phases.step_count, 0);
        phases_free(&phases);
        model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_micro_batches_and_layers),
                                       cmocka_unit_test(test_batches_of_varying_sizes),
                                       cmocka_unit_test(test_frozen_weights_are_parameters),
                                       cmocka_unit_test(test_activations_that_stay),
                                       cmocka_unit_test(test_parameters_in_memory),
                                       cmocka_unit_test(test_names_of_ranges),
                                       cmocka_unit_test(test_ranges_nest_and_overlap),
                                       cmocka_unit_test(test_a_slab_is_cut_where_ranges_end),
                                       cmocka_unit_test(test_nothing_is_found_in_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
