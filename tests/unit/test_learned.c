/* What one run learns and the next one uses, on the host backend: each run is a process of its own. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/learned.h"
#include "core_fixture.h"
#include "profile/profile.h"

#define LAYERS 24
#define LAYER_BYTES (4 * SL_MIB) /* 96 MiB, and the budget is 64 */

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel forward = {"forward", 2, offsets, sizes},
                                   other = {"other", 1, offsets, sizes};

static char folder[] = "/tmp/sluice-learned-XXXXXX", path[sizeof folder + 16];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/profile", folder);
    return setenv("SLUICE_PROFILE", path, 1) || setenv("SLUICE_DAEMON", "inline", 1);
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void launch(const struct sl_host_kernel *kernel, uint64_t a, uint64_t b, uint32_t blocks)
{
    void *parameters[] = {&a, &b};
    core_launch(core_kernel(kernel, parameters, blocks));
}

static uint64_t layers[LAYERS];

static void make_layers(void)
{
    for (int l = 0; l < LAYERS; l++) layers[l] = core_take_at(1, LAYER_BYTES);
}

static void step(void)
{
    uint64_t scratch = core_take_at(2, SL_MIB);
    for (int l = 0; l < LAYERS; l++) launch(&forward, layers[l], scratch, 8);
    assert_int_equal(sl_runtime_free(scratch, NULL), SL_OK);
}

struct outcome {
    uint64_t misses, mispredictions, plans, primed, chunk_bytes, budget_bytes;
    bool pressure_at_start;
};

/* Runs `body` in a process with a core of its own, and says what came of it. */
static struct outcome run(void (*body)(void))
{
    int ends[2], status;
    struct outcome outcome = {0};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        if (core_start(NULL)) _exit(2);
        struct sl_core *core = sl_core_running();
        outcome.pressure_at_start = core->budget.pressure;
        outcome.primed = core->history.primed_symbols;
        outcome.chunk_bytes = core->arena.chunk_bytes;
        outcome.budget_bytes = core->budget.bytes;
        body();
        outcome.misses = core->stats.total.demand_misses;
        outcome.mispredictions = core->stats.total.mispredictions;
        outcome.plans = core->stats.plans;
        core_stop(NULL);
        _exit(write(ends[1], &outcome, sizeof outcome) == sizeof outcome ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &outcome, sizeof outcome), sizeof outcome);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return outcome;
}

static void train(void)
{
    make_layers();
    for (int s = 0; s < 6; s++) step();
}

static void train_long(void)
{
    make_layers();
    for (int s = 0; s < 20; s++) step();
}

static void a_second_run_misses_nothing(void **state)
{
    (void)state;
    struct outcome first = run(train), second = run(train);
    assert_int_equal(first.primed, 0);
    assert_false(first.pressure_at_start);
    assert_true(first.misses > 0);
    assert_true(second.primed > 6 * LAYERS);
    assert_true(second.pressure_at_start);
    assert_int_equal(second.misses, 0);
    assert_int_equal(second.mispredictions, 0);
    assert_true(second.plans > 0);
    unlink(path);
}

static bool is_there(void)
{
    return access(path, F_OK) == 0;
}

static void never_the_same(void)
{
    make_layers();
    for (uint32_t i = 0; i < 500; i++) launch(&other, layers[i % LAYERS], 0, i + 1);
}

static void what_never_repeats_is_not_written(void **state)
{
    (void)state;
    run(never_the_same);
    assert_false(is_there());
}

static void save_on_demand(void)
{
    assert_int_equal(sl_runtime_save_profile(), SL_ERR_UNSUPPORTED);
    make_layers();
    assert_int_equal(sl_runtime_save_profile(), SL_ERR_UNSUPPORTED);
    assert_false(is_there());
    for (int s = 0; s < 4; s++) step();
    unlink(path); /* it may have been written already */
    assert_int_equal(sl_runtime_save_profile(), SL_OK);
    if (!is_there()) _exit(3);
    _exit(0); /* killed: nothing is written at the exit */
}

static void train_until_killed(void)
{
    make_layers();
    for (int s = 0; s < 5; s++) step();
    _exit(is_there() ? 0 : 3);
}

/* One that was read says more than its first iterations: it stays until they are as many. */
static void stray_until_killed(void)
{
    static struct stat before, after;
    stat(path, &before);
    make_layers();
    for (int s = 0; s < 5; s++) {
        step();
        if (s == 0) launch(&other, layers[0], 0, 3);
    }
    bool kept = stat(path, &after) == 0 && before.st_ino == after.st_ino;
    for (int s = 0; s < 40; s++) step();
    _exit(kept && stat(path, &after) == 0 && before.st_ino != after.st_ino ? 0 : 4);
}

static void in_a_child_that_is_killed(void (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (core_start(NULL)) _exit(2);
        body();
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_program_that_is_killed_leaves_a_profile(void **state)
{
    (void)state;
    void (*const bodies[])(void) = {save_on_demand, train_until_killed};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        in_a_child_that_is_killed(bodies[i]);
        assert_true(is_there());
        struct outcome second = run(train);
        assert_true(second.primed > 3 * LAYERS);
        assert_int_equal(second.misses, 0);
        unlink(path);
    }
    run(train_long);
    in_a_child_that_is_killed(stray_until_killed);
    unlink(path);
}

static void train_and_stray(void)
{
    train();
    for (uint32_t grid = 10; grid < 300000; grid++) launch(&other, layers[0], 0, grid);
}

static void what_is_forgotten_was_written_before(void **state)
{
    (void)state;
    run(train_and_stray);
    assert_true(is_there());
    struct outcome second = run(train);
    assert_true(second.primed > 6 * LAYERS);
    assert_int_equal(second.misses, 0);
    unlink(path);
}

static void train_otherwise(void)
{
    for (int l = LAYERS - 1; l >= 0; l--) layers[l] = core_take_at(3, LAYER_BYTES / 2);
    for (int s = 0; s < 6; s++) {
        step();
        for (int l = LAYERS - 1; l >= 0; l--) launch(&other, layers[l], 0, 3);
    }
}

static void another_program_learns_its_own(void **state)
{
    (void)state;
    run(train);
    struct outcome otherwise = run(train_otherwise);
    assert_true(otherwise.primed > 0);
    struct outcome again = run(train_otherwise);
    assert_int_equal(again.misses, 0);
    assert_int_equal(again.mispredictions, 0);
    unlink(path);
}

/* Sets what the next run is to use. */
static void want(uint64_t budget_bytes, uint64_t chunk_bytes)
{
    struct sl_profile profile;
    assert_int_equal(sl_profile_read(path, &profile, NULL), SL_OK);
    profile.wanted.budget_bytes = budget_bytes;
    profile.wanted.chunk_bytes = chunk_bytes;
    assert_int_equal(sl_profile_write(path, &profile), SL_OK);
    sl_profile_free(&profile);
}

static void nothing(void) {}

static void the_environment_has_the_last_word(void **state)
{
    (void)state;
    run(train);
    want(48 * SL_MIB, 8 * SL_MIB);
    struct outcome told = run(nothing);
    assert_int_equal(told.budget_bytes, 64 * SL_MIB);
    assert_int_equal(told.chunk_bytes, 2 * SL_MIB);
    core_say_nothing = true;
    struct outcome wanted = run(train);
    assert_int_equal(wanted.budget_bytes, 48 * SL_MIB);
    assert_int_equal(wanted.chunk_bytes, 8 * SL_MIB);
    assert_int_equal(wanted.misses, 0);
    want(0, 3 * SL_MIB); /* no power of two */
    wanted = run(nothing);
    assert_int_not_equal(wanted.chunk_bytes, 3 * SL_MIB);
    core_say_nothing = false;
    unlink(path);
}

/* What the profile wants is not the run's to forget. */
static void what_is_wanted_stays(void **state)
{
    (void)state;
    struct sl_profile profile;
    run(train);
    want(0, 4 * SL_MIB);
    run(train_otherwise);
    assert_int_equal(sl_profile_read(path, &profile, NULL), SL_OK);
    assert_int_equal(profile.wanted.chunk_bytes, 4 * SL_MIB);
    sl_profile_free(&profile);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_run_misses_nothing),
        cmocka_unit_test(what_never_repeats_is_not_written),
        cmocka_unit_test(a_program_that_is_killed_leaves_a_profile),
        cmocka_unit_test(what_is_forgotten_was_written_before),
        cmocka_unit_test(another_program_learns_its_own),
        cmocka_unit_test(the_environment_has_the_last_word),
        cmocka_unit_test(what_is_wanted_stays),
    };
    return cmocka_run_group_tests_name("learned", tests, make_folder, remove_folder);
}
