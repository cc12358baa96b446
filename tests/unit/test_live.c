/* The figures that a run keeps in a file: they are those of the counters at any moment, a child of the
 * program has no part in them, and no file of another kind is lost. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/command/live.h"
#include "core_fixture.h"

#define LAUNCHES 100

static const uint32_t offset = 0, size = 8;
static const struct sl_host_kernel kernel = {"kernel", 1, &offset, &size};
static char folder[] = "/tmp/sluice-live-XXXXXX", path[sizeof folder + 16];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/figures", folder);
    return setenv("SLUICE_LIVE", path, 1);
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void launch_some(void)
{
    uint64_t memory = core_take(4 * SL_MIB);
    void *parameters[] = {&memory};
    for (int i = 0; i < LAUNCHES; i++) core_launch(core_kernel(&kernel, parameters, 8));
}

/* What the file says; its launches, or -1 where it cannot be read. */
static int64_t launches_told(void)
{
    struct sl_live_record *record;
    uint64_t in_all = 0;
    if (sl_live_read(path, &record) != SL_OK) return -1;
    for (uint32_t i = 0; i <= record->stats.iteration; i++) in_all += record->stats.iterations[i].launches;
    bool good = record->live.state == SL_LIVE_COUNTED && record->running &&
                record->live.process == (uint32_t)getpid() && record->stats.budget_bytes == 64 * SL_MIB &&
                !strcmp(record->stats.policy, "plan") && in_all == record->stats.total.launches;
    int64_t launches = (int64_t)record->stats.total.launches;
    sl_live_free(record);
    return good ? launches : -1;
}

/* The thread that writes them comes by and by. */
static void await_launches(int64_t launches)
{
    alarm(60);
    while (launches_told() != launches) sched_yield();
    alarm(0);
}

static void counters_are_told_soon(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    if (launches_told() != 0) _exit(10);
    launch_some();
    await_launches(LAUNCHES);
    launch_some();
    await_launches(2 * LAUNCHES);
    struct sl_live_record *record;
    if (sl_live_read(path, &record) != SL_OK || record->stats.need_bytes != 8 * SL_MIB) _exit(12);
    sl_live_free(record);
    core_stop(NULL);
    _exit(access(path, F_OK) == 0 ? 13 : 0);
}

/* Puts `launches` in place of the word of the file that is `told`. */
static void count_later(uint64_t told, uint64_t launches)
{
    FILE *file = fopen(path, "r+");
    uint64_t word = 0;
    assert_non_null(file);
    while (word != told) assert_int_equal(fread(&word, sizeof word, 1, file), 1);
    assert_int_equal(fseek(file, -(long)sizeof word, SEEK_CUR), 0);
    assert_int_equal(fwrite(&launches, sizeof word, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* A process that is killed between two writes has written its iteration and not the totals: the launches of
 * all iterations are still the total's. */
static void what_a_killed_process_leaves_adds_up(void **state)
{
    (void)state;
    const uint64_t told = 0x123456789;
    struct sl_live_record *record;
    if (!core_in_child("inline")) return;
    struct sl_stats *stats = &sl_core_running()->stats;
    for (int i = 0; i < 5; i++) sl_stats_launched(stats);
    sl_stats_next_iteration(stats);
    sl_stats_now(stats)->launches = told;
    stats->total.launches = told + 5;
    await_launches((int64_t)told + 5);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(sl_live_read(path, &record), SL_OK);
        assert_int_equal(record->stats.iterations[0].launches, 5);
        assert_int_equal(record->stats.iterations[1].launches, told);
        assert_int_equal(record->stats.total.launches, told + 5);
        sl_live_free(record);
        if (!again) count_later(told, told + 1);
    }
    core_end_child(true);
}

/* Its thread may have been counting when a signal's handler forked. */
static void a_child_counts_for_itself(void **state)
{
    (void)state;
    int status;
    if (!core_in_child("inline")) return;
    launch_some();
    await_launches(LAUNCHES);
    struct sl_core *core = sl_core_running();
    uint64_t iteration = core->stats.iteration, plans = core->stats.plans, misses = core_misses();
    pid_t child = fork();
    if (child == 0) {
        sl_runtime_after_fork();
        for (int i = 0; i < 5; i++) {
            sl_stats_launched(&core->stats);
            SL_COUNT(&core->stats, demand_misses, 1);
        }
        atomic_fetch_add(&core->stats.plans, 1);
        sl_stats_next_iteration(&core->stats);
        bool own = core->stats.total.launches == LAUNCHES + 5;
        sl_runtime_stop(false);
        _exit(own ? 0 : 1);
    }
    if (waitpid(child, &status, 0) != child || status) _exit(20);
    if (launches_told() != LAUNCHES || core->stats.total.launches != LAUNCHES) _exit(21);
    if (core_misses() != misses || core->stats.iteration != iteration || core->stats.plans != plans)
        _exit(22);
    core_end_child(true);
}

static void put(const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
}

static void a_file_of_another_kind_stays(void **state)
{
    (void)state;
    char text[16] = "";
    put("a letter", 8);
    if (core_in_child("inline")) {
        launch_some();
        core_end_child(sl_core_running()->stats.total.launches == LAUNCHES);
    }
    FILE *file = fopen(path, "r");
    assert_int_equal(fread(text, 1, sizeof text, file), 8);
    fclose(file);
    assert_string_equal(text, "a letter");
    unlink(path);
}

/* As one that a killed run left. */
static void an_old_one_is_replaced(void **state)
{
    (void)state;
    put(SL_LIVE_MAGIC "and more", 16);
    if (!core_in_child("thread")) return;
    launch_some();
    await_launches(LAUNCHES);
    _exit(0);
}

/* Whatever another process does to the file, the counters are the program's. */
static void a_file_that_is_cut_or_overwritten_costs_figures_only(void **state)
{
    (void)state;
    static char garbage[100000];
    if (!core_in_child("thread")) return;
    launch_some();
    await_launches(LAUNCHES);
    if (truncate(path, 0) != 0) _exit(40);
    launch_some();
    while (launches_told() != -1) sched_yield();
    memset(garbage, 0xff, sizeof garbage);
    put(garbage, sizeof garbage);
    launch_some();
    if (sl_core_running()->stats.total.launches != 3 * LAUNCHES) _exit(41);
    unlink(path);
    launch_some();
    core_end_child(sl_core_running()->stats.total.launches == 4 * LAUNCHES);
}

static void what_cannot_be_read_is_refused(void **state)
{
    (void)state;
    static char bytes[sizeof(struct sl_live)] = SL_LIVE_MAGIC "99.0";
    struct sl_live_record *record;
    unlink(path);
    assert_int_equal(sl_live_read(path, &record), SL_ERR_IO);
    put("", 0);
    assert_int_equal(sl_live_read(path, &record), SL_ERR_FORMAT);
    put(bytes, 100);
    assert_int_equal(sl_live_read(path, &record), SL_ERR_FORMAT);
    put(bytes, sizeof bytes);
    assert_int_equal(sl_live_read(path, &record), SL_ERR_VERSION);
}

static void processes_are_told_apart(void **state)
{
    (void)state;
    uint64_t own = sl_process_began(getpid());
    assert_int_not_equal(own, 0);
    assert_in_range(own, sl_process_began(getppid()), UINT64_MAX);
    pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(sl_process_began(child), 0); /* it only waits to be collected */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(sl_process_began(child), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_told_soon),
        cmocka_unit_test(a_child_counts_for_itself),
        cmocka_unit_test(a_file_of_another_kind_stays),
        cmocka_unit_test(an_old_one_is_replaced),
        cmocka_unit_test(a_file_that_is_cut_or_overwritten_costs_figures_only),
        cmocka_unit_test(what_cannot_be_read_is_refused),
        cmocka_unit_test(processes_are_told_apart),
        cmocka_unit_test(what_a_killed_process_leaves_adds_up),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
