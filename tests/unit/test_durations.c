/* How long launches are said to take, and when they are measured without a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "predict/durations.h"

#define PERIOD 48
#define STEP SL_DURATION_STEP_NS

static void the_median_of_the_last_three_counts(void **state)
{
    (void)state;
    static const uint64_t ns[] = {100, 900, 120, 110, 5000, 115, 6000, 7000};
    static const uint64_t said[] = {100, 100, 120, 120, 120, 115, 5000, 6000};
    struct sl_durations durations = {0};
    assert_int_equal(sl_durations_ns(&durations, 7, 0), 0);
    for (int i = 0; i < 8; i++) {
        sl_durations_note(&durations, 7, 0, 0, STEP * ns[i]);
        assert_int_equal(sl_durations_ns(&durations, 7, 0), STEP * said[i]);
    }
    assert_int_equal(sl_durations_ns(&durations, 6, 0), 0);
    sl_durations_close(&durations);
}

static void no_launch_takes_nothing_and_none_for_ever(void **state)
{
    (void)state;
    struct sl_durations durations = {0};
    sl_durations_note(&durations, 0, 0, 0, 1);
    sl_durations_note(&durations, 1, 0, 0, UINT64_MAX / 2);
    assert_int_equal(sl_durations_ns(&durations, 0, 0), STEP);
    assert_int_equal(sl_durations_ns(&durations, 1, 0), (uint64_t)(SL_NONE - 1) * STEP);
    sl_durations_close(&durations);
}

static void a_symbol_without_its_own_takes_the_mean_of_its_kernel(void **state)
{
    (void)state;
    struct sl_durations durations = {0};
    sl_durations_note(&durations, 1, 3, 0, 1000);
    sl_durations_note(&durations, 2, 3, 0, 3000);
    sl_durations_note(&durations, SL_NONE, 4, 0, 500);
    assert_int_equal(sl_durations_ns(&durations, 9, 3), 2000);
    assert_int_equal(sl_durations_ns(&durations, 100000, 4), 500);
    assert_int_equal(sl_durations_ns(&durations, 9, 0), 0);
    assert_int_equal(sl_durations_ns(&durations, 9, 5), 0);
    sl_durations_forget(&durations);
    assert_int_equal(sl_durations_ns(&durations, 1, 0), 0);
    assert_int_equal(sl_durations_ns(&durations, 1, 3), 2000);
    sl_durations_close(&durations);
}

/* Else each of the many symbols that a framework's allocator makes of one launch would be timed three times.
 */
static void another_launch_of_the_shape_confirms(void **state)
{
    (void)state;
    struct sl_durations durations = {0};
    sl_durations_note(&durations, 1, 3, 77, 80 * STEP);
    assert_false(sl_durations_of(&durations, 1)->confirmed);
    sl_durations_note(&durations, 2, 3, 78, 80 * STEP); /* another shape */
    assert_false(sl_durations_of(&durations, 2)->confirmed);
    sl_durations_note(&durations, 3, 3, 0, 80 * STEP); /* of which nothing is known */
    assert_false(sl_durations_of(&durations, 3)->confirmed);
    sl_durations_note(&durations, 4, 3, 77, 60 * STEP); /* one of the two was held up */
    assert_false(sl_durations_of(&durations, 4)->confirmed);
    sl_durations_note(&durations, 5, 3, 77, 64 * STEP);
    assert_true(sl_durations_of(&durations, 5)->confirmed);
    sl_durations_note(&durations, 5, 3, 77, 99 * STEP); /* it stays */
    assert_true(sl_durations_of(&durations, 5)->confirmed);
    sl_durations_forget(&durations);
    sl_durations_note(&durations, 6, 3, 77, 98 * STEP); /* shapes mean what they meant */
    assert_true(sl_durations_of(&durations, 6)->confirmed);
    sl_durations_close(&durations);
}

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};
static uint64_t blocks[PERIOD];

/* Launches on their own memory each. */
static void launch_rounds(int rounds)
{
    for (int i = 0; i < rounds * PERIOD; i++) {
        void *parameters[] = {&blocks[i % PERIOD]};
        core_launch(core_kernel(&kernel, parameters, 1));
    }
}

/* Of how many symbols the duration is known by `least` measurements, after `rounds` over blocks of `bytes`;
 * *calls: to the driver, in as many further rounds. */
static int known_after(uint64_t bytes, int rounds, uint32_t least, uint64_t *calls)
{
    int ends[2], known = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        setenv("SLUICE_DAEMON", "inline", 1);
        if (core_start(NULL)) _exit(1);
        for (int b = 0; b < PERIOD; b++) blocks[b] = core_take(bytes);
        launch_rounds(rounds);
        struct sl_core *core = sl_core_running();
        for (uint32_t s = 0; s < core->sampling.durations.symbol_capacity; s++)
            known += core->sampling.durations.symbols[s].count >= least;
        _Atomic uint64_t *count = &sl_backend_host_books(&core->backend)->calls;
        uint64_t before = *count;
        launch_rounds(rounds);
        *calls = *count - before;
        if (write(ends[1], calls, sizeof *calls) < 0) _exit(1);
        core_stop(NULL);
        _exit(known);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(read(ends[0], calls, sizeof *calls), sizeof *calls);
    close(ends[0]);
    close(ends[1]);
    return WEXITSTATUS(status);
}

static void every_symbol_is_measured_where_memory_is_short(void **state)
{
    (void)state;
    uint64_t calls;
    assert_int_equal(known_after(2 * SL_MIB, 40, 1, &calls), PERIOD);
}

static void nothing_is_measured_where_everything_fits(void **state)
{
    (void)state;
    uint64_t calls;
    assert_int_equal(known_after(SL_MIB, 40, 1, &calls), 0);
    assert_int_equal(calls, 0);
}

/* --- in place: a kernel that reads its memory again and again must not be taken for one that passes over it
 * once, before it was measured or after. */

#define LINK_NS 1000
#define MANY_BYTES (4 * SL_MIB)

/* A launch of symbol 1 that uses so many bytes for each nanosecond. */
static void run_at(struct sl_durations *durations, double bytes_per_ns)
{
    sl_durations_note(durations, 1, 2, 0, (uint64_t)((double)MANY_BYTES / bytes_per_ns));
}

static void what_is_as_fast_as_the_memory_passes_over_it_once(void **state)
{
    (void)state;
    static const struct {
        double bytes_per_ns;
        bool once;
    } cases[] = {{100, false}, {390, false}, {410, true}, {1000, true}, {2900, true}, {3100, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_durations durations = {.device_bytes_per_s = 1000 * UINT64_C(1000000000)};
        assert_true(sl_durations_in_place(&durations, 1, 2, MANY_BYTES) == 0); /* not measured yet */
        run_at(&durations, cases[i].bytes_per_ns);
        assert_true(sl_durations_in_place(&durations, 1, 2, MANY_BYTES) == (cases[i].once ? 1 : 0));
        assert_true(sl_durations_in_place(&durations, 2, 2, MANY_BYTES) == 0); /* by the mean of its kernel */
        assert_true(sl_durations_in_place(&durations, 1, 2, 100 * SL_KIB) == 0);
        durations.device_bytes_per_s = 0;
        assert_true(sl_durations_in_place(&durations, 1, 2, MANY_BYTES) == 0);
        sl_durations_close(&durations);
    }
}

static void what_was_measured_in_place_counts(void **state)
{
    (void)state;
    struct sl_durations durations = {.device_bytes_per_s = 1000 * UINT64_C(1000000000)};
    run_at(&durations, 1000);
    /* Movements beside a launch make it slower: the least of several counts. */
    for (uint64_t times = 20; times >= 3; times -= 17 / 2 + 1) {
        assert_true(sl_durations_lack_in_place(&durations, 1, 2, 1));
        assert_true(sl_durations_in_place(&durations, 1, 2, MANY_BYTES) == 1);
        sl_durations_note_in_place(&durations, 1, 2, LINK_NS, times * LINK_NS);
    }
    assert_true(sl_durations_lack_in_place(&durations, 1, 2, 1));
    sl_durations_note_in_place(&durations, 1, 2, LINK_NS, 3 * LINK_NS);
    assert_true(sl_durations_in_place(&durations, 1, 2, MANY_BYTES) == 3);
    assert_true(sl_durations_in_place(&durations, 7, 2, MANY_BYTES) == 3); /* of its kernel */
    assert_true(sl_durations_in_place(&durations, 7, 3, MANY_BYTES) == 0);
    assert_false(sl_durations_lack_in_place(&durations, 1, 2, 1));
    uint32_t again = 0;
    for (uint64_t n = 0; n < 640; n++) again += sl_durations_lack_in_place(&durations, 1, 2, n);
    assert_int_equal(again, 10);
    sl_durations_note_in_place(&durations, 1, 2, LINK_NS, 20 * LINK_NS);
    assert_true(sl_durations_in_place(&durations, 1, 2, MANY_BYTES) < 3.1);
    for (int i = 0; i < 20; i++) sl_durations_note_in_place(&durations, 1, 2, LINK_NS, 20 * LINK_NS);
    assert_true(sl_durations_in_place(&durations, 1, 2, MANY_BYTES) == 0); /* has become too slow */
    for (int i = 0; i < 30; i++) sl_durations_note_in_place(&durations, 1, 2, LINK_NS, LINK_NS / 10);
    assert_true(sl_durations_in_place(&durations, 1, 2, MANY_BYTES) == 0.5);
    for (int i = 0; i < 3; i++)
        sl_durations_note_in_place(&durations, 1, 4, 0, 10); /* nothing crossed the link */
    assert_true(sl_durations_in_place(&durations, 9, 4, MANY_BYTES) == 0);
    sl_durations_close(&durations);
}

/* A graph, and all launches of a replayed trace. */
static void without_a_kernel_each_symbol_is_measured_by_itself(void **state)
{
    (void)state;
    struct sl_durations durations = {0};
    for (int i = 0; i < 3; i++) sl_durations_note_in_place(&durations, 1, 0, LINK_NS, 2 * LINK_NS);
    sl_durations_note_in_place(&durations, SL_NONE, 0, LINK_NS, 2 * LINK_NS); /* forgotten meanwhile */
    assert_true(sl_durations_in_place(&durations, 1, 0, MANY_BYTES) == 2);
    assert_true(sl_durations_in_place(&durations, 2, 0, MANY_BYTES) == 0);
    sl_durations_forget(&durations);
    assert_true(sl_durations_in_place(&durations, 1, 0, MANY_BYTES) == 0);
    sl_durations_close(&durations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_of_the_last_three_counts),
        cmocka_unit_test(no_launch_takes_nothing_and_none_for_ever),
        cmocka_unit_test(a_symbol_without_its_own_takes_the_mean_of_its_kernel),
        cmocka_unit_test(another_launch_of_the_shape_confirms),
        cmocka_unit_test(every_symbol_is_measured_where_memory_is_short),
        cmocka_unit_test(nothing_is_measured_where_everything_fits),
        cmocka_unit_test(what_is_as_fast_as_the_memory_passes_over_it_once),
        cmocka_unit_test(what_was_measured_in_place_counts),
        cmocka_unit_test(without_a_kernel_each_symbol_is_measured_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
