/* The trace in memory: what launches share is found again, every order of the records gives the same, and
 * what the file refers to without having it is counted. */
#include "tools/model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace_file.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define LAUNCH(number, kernel, ...)                                                                          \
    {                                                                                                        \
        .type = SL_EVENT_LAUNCH, .id = kernel, .tick = number, .time_ns = 100 * number, .a = 7, .b = 256,    \
        __VA_ARGS__                                                                                          \
    }
#define COLLECTIVE(number, function, communicator, bytes)                                                    \
    {                                                                                                        \
        .type = SL_EVENT_LAUNCH, .flags = SL_LAUNCH_COLLECTIVE, .id = function, .tick = number,              \
        .time_ns = 100 * number, .a = 7, .b = communicator, .c = bytes                                       \
    }
#define ACCESS(number, slot, offset, bytes)                                                                  \
    {                                                                                                        \
        .type = SL_EVENT_ACCESS, .id = slot, .tick = number, .time_ns = 100 * number, .a = offset,           \
        .b = bytes                                                                                           \
    }
#define ALLOC(slot, time, size)                                                                              \
    {                                                                                                        \
        .type = SL_EVENT_ALLOC, .id = slot, .time_ns = time, .a = 0x1000, .b = size, .c = 5                  \
    }
#define FREE(slot, time, size)                                                                               \
    {                                                                                                        \
        .type = SL_EVENT_FREE, .id = slot, .time_ns = time, .a = 0x1000, .b = size                           \
    }

static struct model *model_of(const struct sl_event *events, size_t count, size_t per_block)
{
    struct trace_bytes trace = trace_build(events, count, per_block, true);
    FILE *stream = fmemopen(trace.bytes, trace.size, "rb");
    struct sl_trace_reader *reader;
    struct sl_trace_problem problem;
    struct model *model;
    assert_non_null(stream);
    assert_int_equal(sl_trace_reader_open_stream(stream, &reader, &problem), SL_OK);
    assert_true(model_read(reader, &(struct progress){0}, &model));
    assert_int_equal(model->problem.status, SL_OK);
    sl_trace_reader_close(reader);
    fclose(stream);
    free(trace.bytes);
    return model;
}

static const struct model_set *set_of(const struct model *model, uint32_t launch)
{
    return &model->sets.at[model_shape_of(model, &model->launches.at[launch])->set];
}

static void test_launches_share_what_they_touch(void **state)
{
    (void)state;
    const struct sl_event events[] = {
        ALLOC(3, 10, 4096),   LAUNCH(1, 1),        ACCESS(1, 3, 0, 64),  ACCESS(1, 3, 64, 64),
        LAUNCH(2, 2),         ACCESS(2, 3, 0, 64), LAUNCH(3, 1, .d = 1), LAUNCH(4, 1), /* touches nothing */
        LAUNCH(5, 9, .d = 2),                                            /* another kernel on the same */
        LAUNCH(6, 1),         ACCESS(6, 3, 0, 64), ACCESS(6, 3, 64, 64), /* told again */
    };
    struct model *model = model_of(events, COUNT(events), 100);
    assert_int_equal(model->launches.count, 6);
    assert_int_equal(model->launches.at[0].shape, model->launches.at[2].shape);
    assert_int_equal(model->launches.at[0].shape, model->launches.at[5].shape);
    assert_int_equal(model->ranges.count, 2);
    assert_int_equal(set_of(model, 0)->count, 2);
    assert_int_equal(model_set_range(model, set_of(model, 0), 1)->offset, 64);
    assert_int_equal(model->slots.at[model_set_range(model, set_of(model, 0), 1)->slot].id, 3);
    assert_int_equal(set_of(model, 3)->count, 0);
    assert_ptr_equal(set_of(model, 4), set_of(model, 1));
    assert_int_not_equal(model->launches.at[4].shape, model->launches.at[1].shape);
    assert_int_equal(model->streams.count, 1);
    assert_int_equal(model->missing.sets, 0);
    model_close(model);
}

static void test_a_lost_reference_is_counted(void **state)
{
    (void)state;
    const struct sl_event events[] = {LAUNCH(5, 1, .d = 4), ACCESS(6, 3, 0, 64), LAUNCH(7, 1, .d = 7),
                                      LAUNCH(8, 1, .flags = 9), LAUNCH(9, 1, .d = UINT64_MAX)};
    struct model *model = model_of(events, COUNT(events), 100);
    assert_int_equal(model->launches.count, 3);
    assert_true(model_shape_of(model, &model->launches.at[0])->lost);
    assert_int_equal(set_of(model, 0)->count, 0);
    assert_int_equal(model->missing.sets, 3);
    assert_int_equal(model->missing.accesses, 1);
    assert_int_equal(model->missing.unknown, 1);
    model_close(model);
}

/* trace_build gives the blocks to two threads in turn, so that a launch's accesses are in several blocks of
 * its thread with blocks of the other one between them. */
static void test_threads_do_not_mix(void **state)
{
    (void)state;
    const struct sl_event events[] = {
        LAUNCH(2, 1),         ACCESS(2, 0, 0, 8), /* thread 1 */
        LAUNCH(1, 2),         ACCESS(1, 1, 0, 8), /* thread 2, earlier */
        ACCESS(2, 0, 8, 8),   ACCESS(2, 0, 16, 8), ACCESS(1, 1, 8, 8),
        LAUNCH(5, 1, .d = 4), /* refers to one that is further on in the file */
        LAUNCH(3, 1, .d = 2), LAUNCH(4, 1),        LAUNCH(6, 1, .d = 1),
        LAUNCH(7, 1, .d = 2), ACCESS(4, 2, 0, 8),  LAUNCH(8, 2, .d = 1),
    };
    struct model *model = model_of(events, COUNT(events), 2);
    assert_int_equal(model->launches.count, 8);
    static const uint32_t ranges[] = {2, 3, 3, 1, 1, 2, 3, 2};
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(model->launches.at[i].tick, i + 1);
        assert_int_equal(set_of(model, i)->count, ranges[i]);
    }
    assert_int_equal(model->missing.sets + model->missing.accesses, 0);
    assert_int_equal(model_find_launch(model, 4), 3);
    assert_int_equal(model_find_launch(model, 9), SL_NONE);
    assert_int_equal(model_launches_to_tick(model, 0), 0);
    assert_int_equal(model_launches_to_tick(model, 99), 8);
    assert_int_equal(model_launches_to_time(model, 399), 3);
    model_close(model);
}

static void test_threads_of_the_system(void **state)
{
    (void)state;
    const struct sl_event events[] = {LAUNCH(1, 1),
                                      {.type = SL_EVENT_THREAD, .time_ns = 100, .a = 600},
                                      {.type = SL_EVENT_THREAD, .time_ns = 50, .a = 500}};
    struct model *model = model_of(events, COUNT(events), 1);
    assert_int_equal(model->threads.count, 2);
    uint32_t first = (uint32_t)model->threads.at[0].thread, second = (uint32_t)model->threads.at[1].thread;
    assert_true(first < second);
    assert_int_equal(model_system_thread(model, first) + model_system_thread(model, second), 1100);
    assert_int_equal(model_system_thread(model, model->launches.at[0].thread),
                     500); /* of the third record, too */
    assert_int_equal(model_system_thread(model, second + 1), 0);
    assert_int_equal(model_system_thread(model, 0), 0);
    model_close(model);
}

/* What lines up the clocks of ranks: in the program's order, and only where the communicator is known. */
static void test_collectives_are_kept(void **state)
{
    (void)state;
    const struct sl_event events[] = {
        COLLECTIVE(3, 6, 77, 4096),
        COLLECTIVE(1, 1, 88, 64),
        COLLECTIVE(2, 1, 0, 64), /* found by the kernel's name */
        LAUNCH(4, 1),            /* a kernel, with a grid where a collective has its communicator */
        {.type = SL_EVENT_DURATION, .tick = 3, .time_ns = 500, .a = 20, .b = 400},
        {.type = SL_EVENT_MESSAGE, .flags = 1, .id = 2, .tick = 3, .time_ns = 300, .a = 77, .b = 8, .c = 5},
        {.type = SL_EVENT_MESSAGE, .id = 4, .tick = 1, .time_ns = 100, .a = 88, .b = 16},
    };
    struct model *model = model_of(events, COUNT(events), 1);
    assert_int_equal(model->collectives.count, 2);
    assert_int_equal(model->collectives.at[0].tick, 1);
    assert_int_equal(model->collectives.at[0].communicator, 88);
    assert_int_equal(model->collectives.at[1].function, 6);
    assert_int_equal(model->collectives.at[1].bytes, 4096);
    assert_int_equal(model->messages.count, 2);
    const struct model_message *first = &model->messages.at[0], *second = first + 1;
    assert_int_equal(first->tick, 1);
    assert_int_equal(first->peer, 4);
    assert_false(first->receives);
    assert_int_equal(second->communicator, 77);
    assert_int_equal(second->own, 5);
    assert_int_equal(second->bytes, 8);
    assert_true(second->receives);
    model_close(model);
}

static void check_lives(const struct sl_event *events, size_t count, size_t per_block)
{
    struct model *model = model_of(events, count, per_block);
    assert_int_equal(model->lives.count, 3);
    const struct model_life *lives = model->lives.at;
    assert_int_equal(lives[0].born_ns, 10);
    assert_int_equal(lives[0].died_ns, 20);
    assert_int_equal(lives[1].born_ns, 30);
    assert_int_equal(lives[1].died_ns, 40);
    assert_int_equal(lives[2].born_ns, 50);
    assert_true(lives[2].died_ns == MODEL_ALWAYS);
    static const uint64_t on[3][2] = {{8, 1}, {0, 10}, {0, 0}};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(lives[i].born_on, on[i][0]);
        assert_int_equal(lives[i].died_on, on[i][1]);
    }
    assert_int_equal(model->missing.frees + model->missing.births, 0);
    model_close(model);
}

/* The same five records in all 120 orders of the file. */
static void test_lives_in_every_order(void **state)
{
    (void)state;
    struct sl_event in_order[] = {ALLOC(0, 10, 64), FREE(0, 20, 64), ALLOC(0, 30, 64), FREE(0, 40, 64),
                                  ALLOC(0, 50, 64)};
    in_order[0].flags = in_order[1].flags = in_order[3].flags = SL_IN_STREAM_ORDER;
    in_order[0].d = 7; /* the stream; in_order[1] is in the default one's order */
    in_order[3].c = 9;
    for (unsigned order = 0; order < 120; order++) {
        struct sl_event events[5], left[5];
        memcpy(left, in_order, sizeof(left));
        unsigned rest = order;
        for (unsigned i = 0; i < 5; i++) {
            unsigned pick = rest % (5 - i);
            rest /= 5 - i;
            events[i] = left[pick];
            memmove(left + pick, left + pick + 1, (4 - pick) * sizeof(*left));
        }
        check_lives(events, 5, 1);
    }
}

static void test_lost_allocations_and_frees(void **state)
{
    (void)state;
    const struct sl_event events[] = {ALLOC(1, 5, 8),   FREE(0, 20, 64), ALLOC(0, 30, 64),
                                      ALLOC(0, 40, 64), FREE(0, 50, 64), ALLOC(0, 60, 128)};
    struct model *model = model_of(events, COUNT(events), 100);
    assert_int_equal(model->lives.count, 5);
    assert_int_equal(model->missing.frees, 1);
    assert_int_equal(model->missing.births, 1);
    /* The first record is the earliest that the life can have begun. */
    assert_int_equal(model->lives.at[1].born_ns, 5);
    assert_true(model->lives.at[1].born_before);
    assert_int_equal(model->lives.at[1].died_ns, 20);
    assert_int_equal(model->lives.at[2].died_ns, 40);
    /* Number 0 became another slot's. */
    assert_int_equal(model->slots.count, 3);
    assert_int_equal(model->slots.at[model->lives.at[4].slot].bytes, 128);
    model_close(model);
}

static void test_all_types(void **state)
{
    (void)state;
    struct model *model = model_of(trace_samples, trace_sample_count, 3);
    assert_int_equal(model->records, trace_sample_count);
    assert_int_equal(model->moves.count, 1);
    assert_int_equal(model->transfers.at[0].began_ns, 1000);
    assert_int_equal(model->durations.at[0].took_ns, 12345);
    assert_int_equal(model->marks.count, 2);
    assert_string_equal(model->marks.at[0].name, "forward");
    assert_string_equal(model->sites.at[0].frames, "0+1a 3+ffff");
    assert_string_equal(model->modules.at[0].path, "/usr/lib/libm.so");
    assert_string_equal(model->metadata.at[0], "device=none");
    assert_string_equal(model->metadata.at[1], "plans=18446744073709551615");
    assert_int_equal(model->errors.at[0].bytes, SL_GIB);
    assert_int_equal(model->syncs.at[0].kind, SL_SYNC_STREAM);
    assert_int_equal(model->missing.records, 17);
    assert_string_equal(model_launch_name(model, &model->launches.at[0]), "_Z6matmulPKfS0_Pf");
    assert_string_equal(model_launch_name(model, &model->launches.at[1]), "copy");
    model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launches_share_what_they_touch),
                                       cmocka_unit_test(test_a_lost_reference_is_counted),
                                       cmocka_unit_test(test_threads_do_not_mix),
                                       cmocka_unit_test(test_threads_of_the_system),
                                       cmocka_unit_test(test_collectives_are_kept),
                                       cmocka_unit_test(test_lives_in_every_order),
                                       cmocka_unit_test(test_lost_allocations_and_frees),
                                       cmocka_unit_test(test_all_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
