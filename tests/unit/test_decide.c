/* What the trace and the log have of the core's decisions. Each test is a process of its own, since the core
 * runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "core_fixture.h"
#include "trace/events.h"
#include "trace_file.h"

enum { BLOCKS = 48, ROUNDS = 12 }; /* 96 MiB; the budget is 64 */

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel pair = {"pair", 2, offsets, sizes}, first = {"first", 1, offsets, sizes},
                                   second = {"second", 1, offsets, sizes};
static char trace_path[] = "/tmp/test-decide-XXXXXX", log_path[] = "/tmp/test-decide-log-XXXXXX";
static uint64_t blocks[BLOCKS];

static void launch(const struct sl_host_kernel *kernel, int block, uint32_t grid)
{
    void *parameters[] = {&blocks[block]};
    core_launch(core_kernel(kernel, parameters, grid));
}

static void run(int rounds)
{
    while (rounds--)
        for (int b = 0; b < BLOCKS; b++) launch(&first, b, 1);
}

/* What happens in the child, once it goes in circles. */
static void another_kernel(void)
{
    launch(&second, 0, 1);
}
static void another_grid(void)
{
    launch(&first, 0, 2);
}
static void another_block(void)
{
    launch(&first, 1, 1);
}
static void an_allocation(void)
{
    core_take(2 * SL_MIB);
}
static void set_or_copy(enum sl_launch_kind kind, uint64_t address, uint64_t bytes)
{
    core_launch((struct sl_launch){.kind = kind, .spans = {{address, bytes, true}}, .span_count = 1});
}
static void a_memset(void)
{
    set_or_copy(SL_LAUNCH_MEMSET, blocks[0], 2 * SL_MIB);
}
static void a_copy(void)
{
    set_or_copy(SL_LAUNCH_COPY, blocks[0], 2 * SL_MIB);
}
static void large_memsets(void)
{
    uint64_t large = core_take(96 * SL_MIB), larger = core_take(100 * SL_MIB);
    for (int i = 0; i < 2; i++) {
        set_or_copy(SL_LAUNCH_MEMSET, large, 96 * SL_MIB);
        set_or_copy(SL_LAUNCH_MEMSET, larger, 100 * SL_MIB);
    }
}

static char *log_text(void)
{
    static char text[1 << 20];
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

/* The records of one kind of decision. */
static int count(const struct trace_content *trace, enum sl_decision decision, uint32_t id, bool any)
{
    int found = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct sl_event *event = &trace->records[i].event;
        found += event->type == SL_EVENT_DECISION && event->flags == decision && (any || event->id == id);
    }
    return found;
}

static struct trace_content run_with(void (*happen)(void))
{
    setenv("SLUICE_TRACE", trace_path, 1);
    setenv("SLUICE_LOG", log_path, 1);
    setenv("SLUICE_VERBOSE", "2", 1);
    unlink(log_path);
    if (core_in_child("inline")) {
        for (int b = 0; b < BLOCKS; b++) blocks[b] = core_take(2 * SL_MIB);
        run(ROUNDS);
        happen();
        core_end_child(true);
    }
    return trace_read_file(trace_path);
}

static void nothing(void) {}

static void plans_say_why_they_are_begun(void **state)
{
    (void)state;
    struct trace_content trace = run_with(nothing);
    assert_in_range(count(&trace, SL_DECISION_BEGIN, SL_BEGIN_ANEW, false), 1, 3);
    assert_in_range(count(&trace, SL_DECISION_BEGIN, SL_BEGIN_FOLLOWS, false), 1, ROUNDS);
    int begun = count(&trace, SL_DECISION_BEGIN, 0, true); /* the last one may be carried out later */
    assert_in_range(count(&trace, SL_DECISION_SWITCH, 0, true), begun - 1, begun);
    assert_int_equal(count(&trace, SL_DECISION_DISCARD, 0, true), 0);
    assert_in_range(count(&trace, SL_DECISION_VICTIMS, 0, true), 1, BLOCKS);
    assert_non_null(strstr(log_text(), "a plan is begun: nothing is planned"));
    trace_content_free(&trace);
}

static void differs(void (*happen)(void), enum sl_difference what, const char *line)
{
    struct trace_content trace = run_with(happen);
    assert_int_equal(count(&trace, SL_DECISION_MISPREDICT, what, false), 1);
    assert_int_equal(count(&trace, SL_DECISION_DISCARD, 0, true), 0);
    assert_non_null(strstr(log_text(), line));
    trace_content_free(&trace);
}

/* It depends on the data in many a program. */
static void another_grid_is_no_misprediction(void **state)
{
    (void)state;
    struct trace_content trace = run_with(another_grid);
    assert_int_equal(count(&trace, SL_DECISION_MISPREDICT, 0, true), 0);
    trace_content_free(&trace);
}

static void a_misprediction_says_what_differs(void **state)
{
    (void)state;
    differs(another_kernel, SL_DIFFERS_KERNEL, "second came, expected was first; kernel differs");
    differs(another_block, SL_DIFFERS_ACCESS,
            "access differs: number 0 is slot 1 + 0, expected was slot 0 + 0");
    differs(a_memset, SL_DIFFERS_KERNEL, "a memset came, expected was first");
    differs(a_copy, SL_DIFFERS_KERNEL, "a copy came, expected was first");
    differs(an_allocation, SL_DIFFERS_KIND,
            "an allocation of 2097152 bytes (slot 48) came, expected was first");
}

/* What `sluice top` shows of it. */
static void tell(void (*happen)(void))
{
    struct sl_core *core = sl_core_running();
    happen();
    sl_monitor_update(core);
    sl_log(SL_LOG_DEBUG, "shown: %s; expected %s.", core->stats.came, core->stats.expected);
}
static void tell_another_block(void)
{
    tell(another_block);
}
static void tell_a_copy(void)
{
    tell(a_copy);
}
static void copy_in_circles(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int b = 0; b < BLOCKS; b++) set_or_copy(SL_LAUNCH_COPY, blocks[b], 2 * SL_MIB);
    set_or_copy(SL_LAUNCH_COPY, blocks[2], 2 * SL_MIB);
}
static void launch_pair(int one, int other)
{
    void *parameters[] = {&blocks[one], &blocks[other]};
    core_launch(core_kernel(&pair, parameters, 1));
}
static void pairs_in_circles(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int b = 0; b < BLOCKS; b++) launch_pair(b, b);
    launch_pair(0, 3);
}
static void tell_another_pair(void)
{
    tell(pairs_in_circles);
}
static void tell_another_copy(void)
{
    tell(copy_in_circles);
}

/* "A copy came, expected was a copy" would say nothing. */
static void what_came_is_told_from_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        void (*happen)(void);
        const char *line;
    } cases[] = {{tell_another_block, "shown: first, slot 1 (2 MiB); expected first, slot 0 (2 MiB)."},
                 {tell_a_copy, "shown: a copy, slot 0 (2 MiB); expected first."},
                 {tell_another_pair, "shown: pair, slot 3 (2 MiB); expected pair, slot 0 (2 MiB)."},
                 {tell_another_copy, "shown: a copy, slot 2 (2 MiB); expected a copy, slot 0 (2 MiB)."}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace_content trace = run_with(cases[i].happen);
        if (!strstr(log_text(), cases[i].line)) print_error("%s", strstr(log_text(), "shown"));
        assert_non_null(strstr(log_text(), cases[i].line));
        trace_content_free(&trace);
    }
}

static void what_exceeds_the_budget_is_named(void **state)
{
    (void)state;
    struct trace_content trace = run_with(large_memsets);
    const char *line = strstr(log_text(), "a memset uses 96 MiB, more than the budget of 64 MiB");
    assert_non_null(line);
    line = strstr(line, "a memset uses 100 MiB, more than the budget of 64 MiB");
    assert_non_null(line); /* the remedy in the last line is enough for all */
    assert_null(strstr(strchr(line, '\n'), "more than the budget of"));
    trace_content_free(&trace);
}

static void one_launch_too_many(void)
{
    launch(&second, 0, 1);
    for (int b = 0; b < BLOCKS; b++) launch(&first, b, 1);
}
static void another_way(void)
{
    for (uint32_t i = 2; i < BLOCKS; i++) launch(&second, 0, i);
}

static void plans_go_on_or_are_discarded(void **state)
{
    (void)state;
    struct trace_content trace = run_with(one_launch_too_many);
    assert_int_equal(count(&trace, SL_DECISION_DISCARD, 0, true), 0);
    assert_non_null(strstr(log_text(), "the plan goes on, 1 launches later"));
    trace_content_free(&trace);
    trace = run_with(another_way);
    /* The plan, and the next one if it was begun. */
    assert_in_range(count(&trace, SL_DECISION_DISCARD, SL_CANCEL_MISPREDICTED, false), 1, 2);
    trace_content_free(&trace);
}

static void numbers_without_a_text_are_no_harm(void **state)
{
    (void)state;
    assert_string_equal(sl_decision_text(99), "?");
    assert_string_equal(sl_decision_reason_text(SL_DECISION_DISCARD, 99), "?");
    assert_null(sl_decision_reason_text(SL_DECISION_SWITCH, 0));
    assert_null(sl_decision_reason_text(99, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_say_why_they_are_begun),
        cmocka_unit_test(another_grid_is_no_misprediction),
        cmocka_unit_test(a_misprediction_says_what_differs),
        cmocka_unit_test(what_came_is_told_from_what_was_expected),
        cmocka_unit_test(what_exceeds_the_budget_is_named),
        cmocka_unit_test(plans_go_on_or_are_discarded),
        cmocka_unit_test(numbers_without_a_text_are_no_harm),
    };
    close(mkstemp(trace_path));
    close(mkstemp(log_path));
    int failed = cmocka_run_group_tests_name("decide", tests, NULL, NULL);
    unlink(trace_path);
    unlink(log_path);
    return failed;
}
