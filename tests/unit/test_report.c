/* What a run says of itself at its end: breaks if its statistics are missing, another's, incomplete or in the
 * place of a file of another kind, if the file for a sudden end outlives a run that wrote its figures itself,
 * or if a child takes it away. Each test is a process of its own, since where figures go is decided once. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/report.h"
#include "core_fixture.h"

#define LAUNCHES 100

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"one", 1, offsets, sizes};
static char folder[] = "/tmp/sluice-report-XXXXXX";
static char stats[sizeof folder + 16], beside[sizeof folder + 16], said[sizeof folder + 16];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(stats, sizeof stats, "%s/stats", folder);
    snprintf(beside, sizeof beside, "%s/stats.live", folder);
    snprintf(said, sizeof said, "%s/log", folder);
    setenv("SLUICE_LOG", said, 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int end(void **state)
{
    (void)state;
    unlink(stats);
    unlink(beside);
    unlink(said);
    unsetenv("SLUICE_VERBOSE");
    unsetenv("SLUICE_STATS");
    return 0;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The file's beginning; "" where there is none. */
static const char *text_of(const char *path)
{
    static char text[16384];
    FILE *file = fopen(path, "r");
    size_t count = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[count] = 0;
    if (file) fclose(file);
    return text;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static uint64_t memory;

static void launch_some(void)
{
    void *parameters[] = {&memory};
    for (int i = 0; i < LAUNCHES; i++) core_launch(core_kernel(&kernel, parameters, 1));
}

static void statistics_are_written_at_the_end_and_not_before(void **state)
{
    (void)state;
    setenv("SLUICE_STATS", stats, 1);
    if (core_in_child("inline")) {
        memory = core_take(4 * SL_MIB);
        launch_some();
        assert_false(is_there(stats));
        assert_true(is_there(beside)); /* for a sudden end */
        core_end_child(is_there(beside));
    }
    assert_false(is_there(beside));
    const char *text = text_of(stats);
    assert_memory_equal(text, SL_STATS_MARKER, strlen(SL_STATS_MARKER));
    assert_non_null(strstr(text, "\"complete\": true"));
    assert_non_null(strstr(text, "\"policy\": \"plan\", \"daemon\": \"inline\""));
    assert_non_null(strstr(text, "\"need_bytes\": 4194304"));
    assert_string_equal(text_of(said), ""); /* nobody asked for a summary */
}

static void without_a_file_for_them_there_are_none(void **state)
{
    (void)state;
    if (core_in_child("inline")) {
        memory = core_take(4 * SL_MIB);
        launch_some();
        assert_false(is_there(beside));
        core_end_child(true);
    }
    assert_false(is_there(stats) || is_there(beside));
}

/* At the start, and not when all is over. */
static void what_cannot_be_written_is_said_at_the_start(void **state)
{
    (void)state;
    put(stats, "a letter");
    setenv("SLUICE_STATS", stats, 1);
    if (core_in_child("inline")) {
        assert_non_null(strstr(text_of(said), "no statistics are written to"));
        memory = core_take(4 * SL_MIB);
        launch_some();
        core_end_child(!is_there(beside));
    }
    assert_string_equal(text_of(stats), "a letter");
    const char *lines = text_of(said);
    assert_ptr_equal(strchr(lines, '\n') + 1, lines + strlen(lines)); /* it is said once */
}

/* With what stands for the rank in it. */
static void a_name_that_is_too_long_is_said(void **state)
{
    (void)state;
    char name[PATH_MAX];
    memset(name, 'n', sizeof name);
    name[0] = '/';
    memcpy(name + sizeof name - 3, "%r", 3);
    setenv("SLUICE_STATS", name, 1);
    setenv("RANK", "1234567890", 1);
    if (core_in_child("inline")) {
        assert_non_null(strstr(text_of(said), "no statistics are written to"));
        core_end_child(!is_there(beside));
    }
    unsetenv("RANK");
}

static void a_summary_is_said_to_those_who_ask(void **state)
{
    (void)state;
    setenv("SLUICE_VERBOSE", "1", 1);
    if (core_in_child("inline")) {
        memory = core_take(4 * SL_MIB);
        launch_some();
        assert_null(strstr(text_of(said), "launches"));
        core_end_child(true);
    }
    assert_non_null(strstr(text_of(said), "100 launches"));
}

static void the_summary_is_that_of_the_core(void **state)
{
    (void)state;
    static const char *const daemons[] = {"inline", "thread"};
    for (int d = 0; d < 2; d++) {
        if (!core_in_child(daemons[d])) continue;
        struct sl_core *core = sl_core_running();
        const struct sl_stats *stats_of = &core->stats;
        memory = core_take(8 * SL_MIB);
        uint64_t gone = core_take(3 * SL_MIB);
        assert_int_equal(sl_runtime_free(gone, NULL), SL_OK);
        launch_some();
        sl_monitor_observe(core);
        assert_int_equal(stats_of->budget_bytes, 64 * SL_MIB);
        assert_int_equal(stats_of->chunk_bytes, 2 * SL_MIB);
        assert_int_equal(stats_of->need_bytes, 11 * SL_MIB);
        assert_int_equal(stats_of->live_bytes, 8 * SL_MIB);
        assert_in_range(stats_of->chunks, 6, 7);
        assert_in_range(stats_of->placed_bytes, stats_of->placed_live_bytes, 14 * SL_MIB);
        assert_int_equal(stats_of->placed_live_bytes, 11 * SL_MIB);
        assert_int_equal(stats_of->pinned_peak_bytes, 0);
        assert_int_equal(stats_of->fed, LAUNCHES + 3); /* two allocations and a free */
        assert_in_range(stats_of->predicted, LAUNCHES - 8, LAUNCHES - 1);
        assert_int_equal(stats_of->primed, 0);
        assert_int_equal(stats_of->memory, SL_MEMORY_MOVED);
        assert_int_equal(stats_of->link_in_bytes_per_s, core->migrator.link_in_bytes_per_s);
        assert_string_equal(stats_of->policy, "plan");
        assert_string_equal(stats_of->daemon, daemons[d]);
        core_end_child(true);
    }
}

/* Options of which all but one are empty. */
static struct sl_options options_for(const char *file)
{
    return (struct sl_options){.stats = file, .live = "", .log = ""};
}

/* In a child without a core. */
static bool in_child(void)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        return true;
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return false;
}

/* A program that used CUDA though the core could not start. */
static void a_run_without_a_core_has_no_figures(void **state)
{
    (void)state;
    if (in_child()) {
        struct sl_options options = options_for(stats);
        sl_report_open(&options);
        assert_true(is_there(beside));
        sl_report_end(NULL);
        assert_false(is_there(beside));
        _exit(is_there(stats));
    }
}

static void where_figures_go_is_decided_once(void **state)
{
    (void)state;
    if (in_child()) {
        char other[sizeof stats], beside_other[sizeof stats + 5];
        snprintf(other, sizeof other, "%s/other", folder);
        snprintf(beside_other, sizeof beside_other, "%s.live", other);
        struct sl_options first = options_for(stats), second = options_for(other);
        sl_report_open(&first);
        sl_report_open(&second);
        assert_true(is_there(beside) && !is_there(beside_other));
        sl_report_end(NULL);
        _exit(is_there(beside) || is_there(beside_other));
    }
}

/* It is the parent's, whose end is to come. */
static void a_child_leaves_the_file_where_it_is(void **state)
{
    (void)state;
    if (!in_child()) return;
    struct sl_options options = options_for(stats);
    sl_report_open(&options);
    if (in_child()) {
        sl_report_leave();
        sl_report_end(NULL);
        sl_report_leave();
        _exit(0);
    }
    assert_true(is_there(beside));
    sl_report_end(NULL);
    _exit(is_there(beside));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(statistics_are_written_at_the_end_and_not_before, end),
        cmocka_unit_test_teardown(without_a_file_for_them_there_are_none, end),
        cmocka_unit_test_teardown(what_cannot_be_written_is_said_at_the_start, end),
        cmocka_unit_test_teardown(a_name_that_is_too_long_is_said, end),
        cmocka_unit_test_teardown(a_summary_is_said_to_those_who_ask, end),
        cmocka_unit_test_teardown(the_summary_is_that_of_the_core, end),
        cmocka_unit_test_teardown(a_run_without_a_core_has_no_figures, end),
        cmocka_unit_test_teardown(where_figures_go_is_decided_once, end),
        cmocka_unit_test_teardown(a_child_leaves_the_file_where_it_is, end),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
