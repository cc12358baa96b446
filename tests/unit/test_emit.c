/* Records without the order lock: where they go, what is filled in, and that a child writes none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "trace/trace_write.h"
#include "trace_file.h"

static char path[] = "/tmp/sluice-emit-XXXXXX";
static _Atomic sl_tick newest;
static struct sl_trace *trace;

static int open_trace(void **state)
{
    (void)state;
    return sl_trace_open(path, &(struct sl_trace_options){.full = SL_TRACE_WAIT}, &trace) == SL_OK ? 0 : -1;
}

static struct trace_content closed_and_read(void)
{
    sl_trace_emit_to(NULL, &newest);
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    return content;
}

static void without_a_trace_nothing_is_recorded(void **state)
{
    (void)state;
    assert_false(sl_trace_emits());
    assert_false(sl_trace_emit((struct sl_event){.type = SL_EVENT_SYNC}));
    sl_trace_emit_to(trace, &newest);
    assert_true(sl_trace_emits());
    sl_trace_emit_to(NULL, &newest);
    assert_false(sl_trace_emits());
    assert_false(sl_trace_emit((struct sl_event){.type = SL_EVENT_SYNC}));
    struct trace_content content = closed_and_read();
    assert_int_equal(content.count, 0);
}

static void tick_and_time_are_filled_in_where_they_are_not_given(void **state)
{
    (void)state;
    sl_trace_emit_to(trace, &newest);
    newest = 41;
    assert_true(sl_trace_emit((struct sl_event){.type = SL_EVENT_SYNC, .tick = 7, .time_ns = 6400}));
    uint64_t before_ns = sl_clock_ns(CLOCK_MONOTONIC);
    newest = 42;
    assert_true(sl_trace_emit((struct sl_event){.type = SL_EVENT_MARK, .a = 5, .text = "step"}));
    uint64_t after_ns = sl_clock_ns(CLOCK_MONOTONIC);
    struct trace_content content = closed_and_read();
    assert_int_equal(content.count, 2);
    assert_int_equal(content.records[0].event.tick, 7);
    assert_int_equal(content.records[0].event.time_ns, 6400);
    assert_int_equal(content.records[1].event.tick, 42);
    assert_in_range(content.records[1].event.time_ns, before_ns / 64 * 64, after_ns);
    assert_int_equal(content.records[1].event.a, 5);
    assert_string_equal(content.records[1].event.text, "step");
    trace_content_free(&content);
}

/* The file and its writer are the parent's, also where no fork handler ran. */
static void a_child_records_nothing(void **state)
{
    (void)state;
    int status;
    sl_trace_emit_to(trace, &newest);
    pid_t child = fork();
    if (child == 0)
        _exit(sl_trace_emits() || sl_trace_emit((struct sl_event){.type = SL_EVENT_SYNC, .a = 1}));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(sl_trace_emit((struct sl_event){.type = SL_EVENT_SYNC, .a = 2}));
    struct trace_content content = closed_and_read();
    assert_int_equal(content.count, 1);
    assert_int_equal(content.records[0].event.a, 2);
    trace_content_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_trace_nothing_is_recorded, open_trace),
        cmocka_unit_test_setup(tick_and_time_are_filled_in_where_they_are_not_given, open_trace),
        cmocka_unit_test_setup(a_child_records_nothing, open_trace),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
