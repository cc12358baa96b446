/* Which repetitions of a trace are training steps. If too many are found, `sluice rehearse` ends a program
 * while it still initialises its model, and tells the time of something else; if too few, it never ends it.
 */
#include "tools/rehearse/training_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/analyses/training.h"
#include "trace_file.h"
#include "training.h"

enum { EVENTS = 4000, STEPS = 400 };

/* --- a trace, launch by launch: slots have letters, and the tick is the number of launches so far */

static struct {
    struct sl_event events[EVENTS];
    size_t count;
    struct step steps[STEPS]; /* as the phases tell them */
    uint32_t step_count, launches, iterations;
} trace;

static int forget(void **state)
{
    (void)state;
    memset(&trace, 0, sizeof trace);
    return 0;
}

static struct sl_event *push(enum sl_event_type type, uint32_t id)
{
    assert_true(trace.count < EVENTS);
    struct sl_event *event = &trace.events[trace.count++];
    *event =
        (struct sl_event){.type = (uint8_t)type, .id = id, .tick = trace.launches, .time_ns = trace.count};
    return event;
}

static void allocate(char slot, uint64_t bytes)
{
    struct sl_event *event = push(SL_EVENT_ALLOC, (uint32_t)slot);
    event->a = (uint64_t)slot << 32;
    event->b = bytes;
    event->c = 1;
}

static void release(char slot, uint64_t bytes)
{
    struct sl_event *event = push(SL_EVENT_FREE, (uint32_t)slot);
    event->a = (uint64_t)slot << 32;
    event->b = bytes;
}

static void use(char slot)
{
    push(SL_EVENT_ACCESS, (uint32_t)slot)->b = 8;
}

static void launch(enum sl_launch_kind kind)
{
    trace.launches++;
    push(SL_EVENT_LAUNCH, kind == SL_LAUNCH_KERNEL)->flags = (uint8_t)kind;
}

/* Kernels: the last uses the last of the slots, and the first all others. */
static void work(uint32_t launches, const char *slots)
{
    size_t others = *slots ? strlen(slots) - 1 : 0;
    for (uint32_t l = 1; l <= launches; l++) {
        launch(SL_LAUNCH_KERNEL);
        for (size_t s = 0; l == 1 && s < others; s++) use(slots[s]);
        if (l == launches && *slots) use(slots[others]);
    }
}

static void end_step(bool whole)
{
    uint32_t begin = trace.step_count ? trace.steps[trace.step_count - 1].end : 0;
    assert_true(trace.step_count < STEPS);
    trace.steps[trace.step_count++] = (struct step){begin, trace.launches, whole};
}

static void end_iteration(void)
{
    push(SL_EVENT_ITERATION, ++trace.iterations);
}

static void make_steps(uint32_t count, uint32_t launches, const char *slots)
{
    for (uint32_t i = 0; i < count; i++) {
        work(launches, slots);
        end_step(true);
    }
}

static void make_iterations(uint32_t count, uint32_t launches, const char *slots)
{
    for (uint32_t i = 0; i < count; i++) {
        work(launches, slots);
        end_iteration();
    }
}

static struct model *model_of(bool ended)
{
    struct trace_bytes bytes = trace_build(trace.events, trace.count, trace.count, ended);
    FILE *stream = fmemopen(bytes.bytes, bytes.size, "rb");
    struct sl_trace_reader *reader;
    struct sl_trace_problem problem;
    struct model *model;
    assert_non_null(stream);
    assert_int_equal(sl_trace_reader_open_stream(stream, &reader, &problem), SL_OK);
    assert_true(model_read(reader, &(struct progress){0}, &model));
    sl_trace_reader_close(reader);
    fclose(stream);
    free(bytes.bytes);
    return model;
}

/* Of a program that needs so much, and is in the middle of a step that is unlike all others. */
static struct steady found;
static uint32_t find(uint64_t need_bytes)
{
    work(1, "");
    end_step(true);
    end_iteration();
    struct model *model = model_of(true);
    struct phases phases = {.steps = trace.steps, .step_count = trace.step_count};
    memset(&found, 0xff, sizeof found);
    uint32_t number = training_steady(model, &phases, need_bytes, &found);
    assert_int_equal(number, found.total);
    model_close(model);
    return number;
}

/* What *out has: the steps from `first` to the last one, of so many launches each, one behind the other. */
static void assert_kept(enum steady_kind kind, uint32_t first, uint32_t begin, uint32_t launches)
{
    assert_int_equal(found.kind, kind);
    assert_int_equal(found.first, first);
    assert_int_equal(found.count, found.total - first + 1);
    for (uint32_t i = 0; i < found.count; i++) {
        assert_int_equal(found.at[i].begin, begin + i * launches);
        assert_int_equal(found.at[i].end, begin + (i + 1) * launches);
        assert_true(found.at[i].whole);
    }
}

/* --- what candidates there are */

/* A repetition begins where the one before ended; what comes before the first end that sluice saw is none. */
static void repetitions_are_between_the_ends_that_sluice_saw(void **state)
{
    (void)state;
    allocate('a', 100);
    make_iterations(1, 17, "a");
    make_iterations(6, 10, "a");
    assert_int_equal(find(100), 6);
    assert_kept(STEADY_REPETITIONS, 4, 17 + 3 * 10, 10);
}

/* There is nothing between two ends at the same launch, and the repetitions around it are neighbours. */
static void an_end_told_twice_is_one(void **state)
{
    (void)state;
    allocate('a', 100);
    make_iterations(3, 10, "a");
    end_iteration();
    make_iterations(3, 10, "a");
    assert_int_equal(find(100), 5);
}

/* An evaluation between two steps, which has no update, leaves them neighbours. */
static void steps_are_those_with_an_update(void **state)
{
    (void)state;
    allocate('a', 100);
    make_steps(2, 10, "a");
    work(5, "a");
    end_step(false);
    make_steps(4, 10, "a");
    assert_int_equal(find(100), 6);
    assert_kept(STEADY_STEPS, 4, 35, 10);
}

/* What comes behind it may not be in the trace yet. It uses enough here, and is unlike the others. */
static void the_last_one_is_left_out(void **state)
{
    (void)state;
    allocate('a', 100);
    allocate('b', 100);
    make_steps(4, 10, "a");
    work(10, "b"); /* find() ends it */
    assert_int_equal(find(100), 4);
    forget(NULL);
    allocate('a', 100);
    allocate('b', 100);
    make_iterations(5, 10, "a");
    work(10, "b");
    assert_int_equal(find(100), 4);
}

/* Where sluice takes two steps for one repetition, the phases tell more. */
static void more_steps_than_repetitions(void **state)
{
    (void)state;
    allocate('a', 100);
    end_iteration();
    for (int i = 0; i < 4; i++) {
        make_steps(2, 10, "a");
        end_iteration();
    }
    assert_int_equal(find(100), 8);
    assert_kept(STEADY_STEPS, 5, 40, 10);
}

/* Where the phases tell only some, or as many, sluice's own are taken. */
static void no_more_steps_than_repetitions(void **state)
{
    (void)state;
    for (uint32_t steps = 4; steps <= 5; steps++) {
        forget(NULL);
        allocate('a', 100);
        make_iterations(1 + 5 - steps, 10, "a");
        end_step(false);
        for (uint32_t i = 0; i < steps; i++) {
            make_steps(1, 10, "a");
            end_iteration();
        }
        assert_int_equal(find(100), 5);
        assert_kept(STEADY_REPETITIONS, 3, 30, 10);
    }
}

/* --- which are alike */

/* One, and behind it two that differ from it by that alone: 3 are found if it is like them. */
static uint32_t find_launches(uint32_t before, uint32_t launches)
{
    forget(NULL);
    allocate('a', 100);
    make_steps(1, before, "a");
    make_steps(2, launches, "a");
    return find(100);
}

static void the_number_of_launches_differs_by_a_fiftieth(void **state)
{
    (void)state;
    assert_int_equal(find_launches(98, 100), 3);
    assert_int_equal(find_launches(100, 98), 3);
    assert_int_equal(find_launches(97, 100), 2);
    assert_int_equal(find_launches(100, 97), 2);
    assert_int_equal(find_launches(49, 50), 3);
    assert_int_equal(find_launches(48, 49), 2);
}

/* What it leaves grows or shrinks by a slot that no launch uses, in the middle of the second. */
static uint32_t find_left(uint64_t before, uint64_t left, bool is_freed)
{
    forget(NULL);
    uint64_t always = before < left ? before : left, extra = before < left ? left - before : before - left;
    allocate('a', always);
    if (before > left) allocate('b', extra);
    make_steps(1, 2, "a");
    work(1, "a");
    if (before < left) allocate('b', extra);
    if (before > left) release('b', extra);
    work(1, "a");
    end_step(true);
    make_steps(1, 2, "a");
    work(1, "");
    if (before < left && is_freed) release('b', extra);
    return find(always);
}

/* What initialises a model layer by layer leaves a layer each time, which may live as long as the program. */
static void what_is_left_differs_by_a_thousandth(void **state)
{
    (void)state;
    for (int freed = 0; freed <= 1; freed++) {
        assert_int_equal(find_left(999000, 1000000, freed), 3);
        assert_int_equal(find_left(998999, 1000000, freed), 2);
    }
    assert_int_equal(find_left(1000000, 999000, true), 3);
    assert_int_equal(find_left(1000000, 998999, true), 2);
}

/* A step's activations go before or with its last launch; what comes behind that is there for the next. */
static void what_is_left_is_what_lives_behind_the_last_launch(void **state)
{
    (void)state;
    allocate('a', 1000);
    make_steps(1, 2, "a");
    allocate('b', 1000);
    make_steps(1, 2, "a"); /* leaves both, as the one before */
    assert_int_equal(find(1000), 2);
    forget(NULL);
    allocate('a', 1000);
    allocate('b', 1000);
    make_steps(2, 2, "a");
    work(2, "a");
    release('b', 1000);
    end_step(true); /* leaves one */
    make_steps(1, 2, "a");
    assert_int_equal(find(1000), 2);
    forget(NULL);
    allocate('a', 1000);
    for (int i = 0; i < 4; i++) { /* each allocates more than the one before, and frees it */
        work(1, "a");
        allocate((char)('b' + i), (uint64_t)1000 << i);
        work(1, "a");
        release((char)('b' + i), (uint64_t)1000 << i);
        end_step(true);
    }
    assert_int_equal(find(1000), 4);
}

/* All is allocated from the beginning, so that the steps differ in what they use only. */
static uint32_t find_shared(uint64_t shared, uint64_t before, uint64_t behind)
{
    forget(NULL);
    allocate('s', shared);
    allocate('a', before);
    allocate('b', behind);
    make_steps(1, 2, "sa");
    make_steps(2, 2, "sb");
    return find(0);
}

/* Half of what the earlier one used: the later one may have come to use more, as all of its optimizer. */
static void half_of_the_memory_is_shared(void **state)
{
    (void)state;
    assert_int_equal(find_shared(1000, 1000, 9000), 3);
    assert_int_equal(find_shared(1000, 1002, 9000), 2);
    assert_int_equal(find_shared(1000, 1002, 10), 2);
}

/* However often it uses a slot, its bytes are used once. */
static void a_slot_counts_once(void **state)
{
    (void)state;
    allocate('s', 1000);
    allocate('a', 1000);
    allocate('b', 1000);
    make_steps(1, 9, "saaaa");
    make_steps(2, 9, "sbb");
    assert_int_equal(find(6003), 0);
    forget(NULL);
    allocate('s', 1000);
    allocate('a', 1000);
    allocate('b', 1000);
    make_steps(1, 9, "saaaa");
    make_steps(2, 9, "sbb");
    assert_int_equal(find(6000), 3);
}

/* Each is compared with its neighbour, not with what an earlier comparison left. */
static void memory_is_compared_with_the_next_ones(void **state)
{
    (void)state;
    allocate('a', 1000);
    allocate('b', 1000);
    allocate('c', 1000);
    make_steps(3, 2, "c");
    make_steps(2, 2, "a");
    assert_int_equal(find(0), 2);
    forget(NULL);
    const char *moving[] = {"ab", "bc", "cd", "de"}; /* the first and the last share nothing */
    for (char slot = 'a'; slot <= 'e'; slot++) allocate(slot, 1000);
    for (int i = 0; i < 4; i++) make_steps(1, 2, moving[i]);
    assert_int_equal(find(0), 4);
}

/* --- parts of a step */

static uint32_t find_with_parts(uint64_t part_bytes, uint64_t need_bytes)
{
    forget(NULL);
    allocate('a', 4000);
    allocate('p', part_bytes);
    make_steps(4, 10, "a");
    make_steps(2, 10, "p");
    return find(need_bytes);
}

/* The program may be in the middle of a step of which the phases, or sluice, see many small ones. */
static void parts_at_the_end_are_passed_over(void **state)
{
    (void)state;
    assert_int_equal(find_with_parts(999, 3000), 4);
    assert_kept(STEADY_STEPS, 3, 20, 10);
    assert_int_equal(find_with_parts(1000, 3000), 2); /* as large as steps: they are the steps now */
    assert_kept(STEADY_STEPS, 2, 50, 10);
}

/* Passes through the layers of a model that is initialised use little each. */
static void parts_alone_are_no_steps(void **state)
{
    (void)state;
    allocate('p', 999);
    make_steps(5, 10, "p");
    make_iterations(5, 10, "p");
    assert_int_equal(find(3000), 0);
    assert_int_equal(found.count, 0);
}

/* Before the steps, too: the part shares all that it uses with the step behind it. */
static void parts_before_the_steps_are_none(void **state)
{
    (void)state;
    allocate('p', 999);
    allocate('a', 2001);
    make_steps(3, 10, "p");
    make_steps(4, 10, "pa");
    assert_int_equal(find(3000), 4);
    forget(NULL);
    allocate('p', 999);
    allocate('a', 2001);
    make_steps(3, 10, "pa");
    make_steps(1, 10, "p");
    make_steps(4, 10, "pa");
    assert_int_equal(find(3000), 4); /* what lies before a part is not their neighbour */
    assert_kept(STEADY_STEPS, 3, 60, 10);
}

/* A program whose memory sluice does not know needs nothing, and its copies and memsets are alike. */
static void copies_and_memsets_alone_are_no_steps(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        launch(SL_LAUNCH_COPY);
        end_iteration();
    }
    assert_int_equal(find(0), 0);
    forget(NULL);
    for (int i = 0; i < 6; i++) {
        launch(SL_LAUNCH_COPY);
        launch(i < 2 ? SL_LAUNCH_MEMSET : SL_LAUNCH_GRAPH);
        launch(SL_LAUNCH_MEMSET);
        end_step(true);
    }
    for (int i = 0; i < 9; i++) {
        launch(SL_LAUNCH_MEMSET);
        end_step(true);
    }
    assert_int_equal(find(0), 4);
    assert_kept(STEADY_STEPS, 3, 12, 3);
}

/* The step's kernel or graph may be its first launch, its last, or all of it. */
static void one_kernel_or_graph_is_enough(void **state)
{
    (void)state;
    static const enum sl_launch_kind steps[][2] = {{SL_LAUNCH_KERNEL, SL_LAUNCH_MEMSET},
                                                   {SL_LAUNCH_COPY, SL_LAUNCH_KERNEL},
                                                   {SL_LAUNCH_GRAPH, SL_LAUNCH_GRAPH}};
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        forget(NULL);
        for (int i = 0; i < 4; i++) {
            launch(steps[s][0]);
            launch(steps[s][1]);
            end_step(true);
        }
        assert_int_equal(find(0), 4);
    }
}

/* --- what is told of them */

/* A program that changes its steps each time, or has made one, has none that repeats itself. */
static void nothing_alike_is_nothing(void **state)
{
    (void)state;
    allocate('a', 100);
    make_steps(1, 10, "a");
    make_steps(1, 20, "a");
    make_steps(1, 30, "a");
    assert_int_equal(find(100), 0);
    assert_int_equal(found.count, 0);
    forget(NULL);
    assert_int_equal(find(100), 0);
    forget(NULL);
    allocate('a', 100);
    make_steps(2, 10, "a");
    assert_int_equal(find(100), 2);
    assert_kept(STEADY_STEPS, 2, 10, 10);
}

/* Only those behind the change, also if there were more before it. */
static void a_change_begins_anew(void **state)
{
    (void)state;
    allocate('a', 100);
    make_steps(9, 10, "a");
    make_steps(1, 25, "a");
    make_steps(3, 10, "a");
    assert_int_equal(find(100), 3);
    assert_kept(STEADY_STEPS, 2, 125, 10);
}

static void the_later_half_is_kept(void **state)
{
    (void)state;
    static const struct {
        uint32_t made, first;
    } cases[] = {{6, 4},
                 {7, 4},
                 {2 * STEADY_MOST - 1, STEADY_MOST},
                 {2 * STEADY_MOST, STEADY_MOST + 1},
                 {2 * STEADY_MOST + 1, STEADY_MOST + 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forget(NULL);
        allocate('a', 100);
        make_steps(cases[i].made, 2, "a");
        assert_int_equal(find(100), cases[i].made);
        assert_kept(STEADY_STEPS, cases[i].first, 2 * (cases[i].first - 1), 2);
    }
}

/* --- for what is replayed */

/* The last launch that training_find tells of *number repetitions. */
static uint32_t find_all(bool ended, enum training_alike alike, uint32_t *number)
{
    struct model *model = model_of(ended);
    struct repetitions all;
    assert_true(training_find(model, NULL, STEADY_REPETITIONS, 3000, alike, &all));
    uint32_t end = all.count ? all.at[all.count - 1].end : 0;
    *number = all.count;
    free(all.at);
    model_close(model);
    return end;
}

/* What comes behind the last may be missing otherwise. */
static void the_last_one_counts_if_a_launch_follows_in_a_trace_with_an_end(void **state)
{
    (void)state;
    uint32_t number;
    allocate('a', 3000);
    make_iterations(4, 10, "a");
    assert_int_equal(find_all(true, TRAINING_SAME_LAUNCHES, &number), 30);
    work(1, "");
    assert_int_equal(find_all(true, TRAINING_SAME_LAUNCHES, &number), 40);
    assert_int_equal(number, 3);
    assert_int_equal(find_all(false, TRAINING_SAME_LAUNCHES, &number), 30);
}

/* As steps of batches of different lengths, or whatever uses enough. */
static void launches_or_nothing_need_be_alike(void **state)
{
    (void)state;
    uint32_t number;
    allocate('a', 1000);
    allocate('b', 1000);
    allocate('p', 999);
    make_iterations(2, 10, "p");
    make_iterations(2, 10, "b");
    make_iterations(1, 10, "a");
    make_iterations(1, 30, "a");
    make_iterations(1, 20, "a");
    make_iterations(1, 20, "p");
    work(1, "");
    assert_int_equal(find_all(true, TRAINING_SAME_LAUNCHES, &number), 0);
    assert_int_equal(find_all(true, TRAINING_SAME_MEMORY, &number), 100);
    assert_int_equal(number, 3);
    assert_int_equal(find_all(true, TRAINING_UNLIKE, &number), 100);
    assert_int_equal(number, 5);
    make_iterations(1, 10, "b");
    work(1, "");
    assert_int_equal(find_all(true, TRAINING_SAME_MEMORY, &number), 0); /* one is like no other */
}

/* Steps with an evaluation in every third one: these count, but neither two in succession nor the first. */
static void single_odd_ones_between_are_kept(void **state)
{
    (void)state;
    uint32_t number;
    allocate('a', 1000);
    allocate('p', 100);
    make_iterations(1, 30, "a");
    make_iterations(2, 20, "a");
    make_iterations(2, 10, "a");
    for (int i = 0; i < 3; i++) {
        make_iterations(1, 30, "a");
        make_iterations(2, 10, "a");
    }
    work(1, "");
    assert_int_equal(find_all(true, TRAINING_SAME_LAUNCHES, &number), 240);
    assert_int_equal(number, 2);
    assert_int_equal(find_all(true, TRAINING_SAME_BUT_ODD, &number), 240);
    assert_int_equal(number, 11);
    make_iterations(1, 30, "a");
    make_iterations(1, 10, "p");
    make_iterations(1, 10, "a");
    work(1, "");
    assert_int_equal(find_all(true, TRAINING_SAME_BUT_ODD, &number), 0); /* a part ends them */
}

/* Three steps, and a last repetition that differs: in its launches, in what it uses or leaves. */
static uint32_t find_several(uint32_t launches, const char *slots, uint64_t left)
{
    uint32_t number;
    forget(NULL);
    allocate('a', 9000);
    allocate('b', 1000);
    allocate('c', 1001);
    allocate('d', 9000);
    make_iterations(4, 10, "a");
    work(1, "");
    allocate('e', left);
    make_iterations(1, launches - 1, slots);
    work(1, "");
    find_all(true, TRAINING_SAME_LAUNCHES, &number);
    return number;
}

/* sluice predicts further and further, and sees a repetition end more seldom. */
static void several_steps_at_the_end_are_left_out(void **state)
{
    (void)state;
    assert_int_equal(find_several(20, "ab", 1), 3);
    assert_int_equal(find_several(9, "ab", 1), 0); /* it is smaller */
    assert_int_equal(find_several(20, "ac", 1), 0);
    assert_int_equal(find_several(20, "d", 1), 0);
    assert_int_equal(find_several(20, "ab", 100), 0);
}

/* Otherwise steps behind which the program does something else would be found. */
static void several_parts_are_no_steps(void **state)
{
    (void)state;
    uint32_t number;
    allocate('a', 3000);
    allocate('p', 999);
    allocate('q', 1);
    make_iterations(4, 10, "a");
    make_iterations(1, 10, "p");
    make_iterations(1, 20, "pq");
    work(1, "");
    find_all(true, TRAINING_SAME_LAUNCHES, &number);
    assert_int_equal(number, 0);
    find_all(true, TRAINING_UNLIKE, &number);
    assert_int_equal(number, 1);
}

/* But for one, they are what the program does now. */
static void several_steps_twice_are_a_change(void **state)
{
    (void)state;
    uint32_t number;
    allocate('a', 3000);
    make_iterations(4, 10, "a");
    make_iterations(2, 20, "a");
    work(1, "");
    assert_int_equal(find_all(true, TRAINING_SAME_LAUNCHES, &number), 80);
    assert_int_equal(number, 2);
}

/* --- files */

static char path[] = "/tmp/sluice-training-steps-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_trace(const struct sl_event *events, size_t count)
{
    struct trace_bytes bytes = trace_build(events, count, count ? count : 1, true);
    write_file(bytes.bytes, bytes.size);
    free(bytes.bytes);
}

/* A step uses all of the 68 MiB. The phases tell a step more than lies between the ends that sluice saw. */
static void steps_of_a_file(void **state)
{
    (void)state;
    size_t count;
    const struct sl_event *events =
        training_events((struct training){.layers = 4, .steps = 8, .micro = 2}, &count);
    write_trace(events, count);
    assert_int_equal(training_steps(path, UINT64_C(64) << 20), 7);
    assert_int_equal(training_steps(path, UINT64_C(640) << 20), 0);
}

/* The trace of a program that has launched nothing yet, and what is no trace. */
static void files_without_steps(void **state)
{
    (void)state;
    const struct sl_event event = {.type = SL_EVENT_ALLOC, .id = 1, .time_ns = 1, .a = 4096, .b = 100};
    write_trace(&event, 1);
    assert_int_equal(training_steps(path, 0), 0);
    write_file("no trace", strlen("no trace"));
    assert_int_equal(training_steps(path, 0), 0);
}

/* The program may be about to make it: no reason to print anything between the lines of its output. */
static void a_file_that_is_not_there(void **state)
{
    (void)state;
    FILE *printed = tmpfile();
    int before = dup(STDERR_FILENO);
    assert_true(printed && before >= 0 && dup2(fileno(printed), STDERR_FILENO) >= 0);
    uint32_t number = training_steps("/nonexistent/trace.slt", 0);
    fflush(stderr);
    off_t bytes = lseek(STDERR_FILENO, 0, SEEK_END);
    dup2(before, STDERR_FILENO);
    close(before);
    fclose(printed);
    assert_int_equal(number, 0);
    assert_int_equal(bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(repetitions_are_between_the_ends_that_sluice_saw, forget),
        cmocka_unit_test_setup(an_end_told_twice_is_one, forget),
        cmocka_unit_test_setup(steps_are_those_with_an_update, forget),
        cmocka_unit_test_setup(the_last_one_is_left_out, forget),
        cmocka_unit_test_setup(more_steps_than_repetitions, forget),
        cmocka_unit_test_setup(no_more_steps_than_repetitions, forget),
        cmocka_unit_test(the_number_of_launches_differs_by_a_fiftieth),
        cmocka_unit_test(what_is_left_differs_by_a_thousandth),
        cmocka_unit_test_setup(what_is_left_is_what_lives_behind_the_last_launch, forget),
        cmocka_unit_test(half_of_the_memory_is_shared),
        cmocka_unit_test_setup(a_slot_counts_once, forget),
        cmocka_unit_test_setup(memory_is_compared_with_the_next_ones, forget),
        cmocka_unit_test(parts_at_the_end_are_passed_over),
        cmocka_unit_test_setup(parts_alone_are_no_steps, forget),
        cmocka_unit_test_setup(parts_before_the_steps_are_none, forget),
        cmocka_unit_test_setup(copies_and_memsets_alone_are_no_steps, forget),
        cmocka_unit_test(one_kernel_or_graph_is_enough),
        cmocka_unit_test_setup(nothing_alike_is_nothing, forget),
        cmocka_unit_test_setup(a_change_begins_anew, forget),
        cmocka_unit_test(the_later_half_is_kept),
        cmocka_unit_test_setup(the_last_one_counts_if_a_launch_follows_in_a_trace_with_an_end, forget),
        cmocka_unit_test_setup(launches_or_nothing_need_be_alike, forget),
        cmocka_unit_test_setup(single_odd_ones_between_are_kept, forget),
        cmocka_unit_test(several_steps_at_the_end_are_left_out),
        cmocka_unit_test_setup(several_parts_are_no_steps, forget),
        cmocka_unit_test_setup(several_steps_twice_are_a_change, forget),
        cmocka_unit_test(steps_of_a_file),
        cmocka_unit_test(files_without_steps),
        cmocka_unit_test(a_file_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
