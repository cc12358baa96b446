/* What the shim records: breaks if a record names another launch, text, wait or error than the
 * program had, or if anything is written or kept where there is no trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/runtime.h"
#include "trace/trace_write.h"
#include "trace_file.h"

static char path[] = "/tmp/sluice-program-events-XXXXXX";
static struct sl_trace *trace;
static _Atomic sl_tick newest;

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd) ? -1 : 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void open_trace(void)
{
    struct sl_trace_options how = {.full = SL_TRACE_WAIT};
    assert_int_equal(sl_trace_open(path, &how, &trace), SL_OK);
    sl_trace_emit_to(trace, &newest);
}

/* What was recorded since the trace was opened: so many records. */
static struct trace_content recorded(size_t count)
{
    sl_trace_emit_to(NULL, NULL);
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, count);
    return content;
}

static void without_a_trace_nothing_is_recorded(void **state)
{
    (void)state;
    assert_false(sl_runtime_tracing());
    assert_int_equal(sl_runtime_wait_begins(), 0);
    sl_runtime_wait_ended(0, SL_SYNC_STREAM, 1);
    sl_runtime_wait_ended(5, SL_SYNC_STREAM, 1);
    sl_runtime_mark(SL_MARK_PUSH, SL_MARKS_NVTX, 0, 0, "step");
    sl_runtime_mark_domain(1, "domain");
    sl_runtime_failed(SL_ERROR_LAUNCH, 2, 3, 4, 5);
    open_trace();
    assert_true(sl_runtime_tracing());
    struct trace_content content = recorded(0);
    trace_content_free(&content);
    assert_false(sl_runtime_tracing());
}

static void a_wait_is_as_long_as_it_was(void **state)
{
    (void)state;
    newest = 17;
    open_trace();
    uint64_t before = sl_clock_ns(CLOCK_MONOTONIC), began = sl_runtime_wait_begins();
    assert_in_range(began, before, sl_clock_ns(CLOCK_MONOTONIC));
    sl_runtime_wait_ended(began, SL_SYNC_EVENT, UINT64_MAX - 1);
    uint64_t after = sl_clock_ns(CLOCK_MONOTONIC);
    struct trace_content content = recorded(1);
    const struct sl_event *event = &content.records[0].event;
    assert_int_equal(event->type, SL_EVENT_SYNC);
    assert_int_equal(event->flags, SL_SYNC_EVENT);
    assert_int_equal(event->b, UINT64_MAX - 1);
    assert_int_equal(event->tick, 17);
    /* It ended when it was recorded, and took all the time before. */
    assert_in_range(event->time_ns, began - 63, after);
    assert_in_range(event->a, 0, after - began);
    assert_in_range(event->time_ns - event->a, began - 63, began);
    trace_content_free(&content);
}

/* A trace that was opened meanwhile does not know when the wait began. */
static void a_wait_that_began_before_the_trace_is_not_recorded(void **state)
{
    (void)state;
    uint64_t began = sl_runtime_wait_begins();
    open_trace();
    sl_runtime_wait_ended(began, SL_SYNC_STREAM, 1);
    struct trace_content content = recorded(0);
    trace_content_free(&content);
}

static void marks_keep_their_names(void **state)
{
    (void)state;
    char name[] = "forward";
    newest = 3;
    open_trace();
    sl_runtime_mark(SL_MARK_PUSH, SL_MARKS_NVTX, 7, 0, name);
    memset(name, 'x', sizeof name - 1); /* the caller's again */
    newest = 4;
    sl_runtime_mark(SL_MARK_BEGIN, SL_MARKS_SLUICE, 0, 99, "epoch");
    sl_runtime_mark(SL_MARK_END, SL_MARKS_SLUICE, 0, 99, NULL);
    struct trace_content content = recorded(3);
    const struct sl_event *push = &content.records[0].event, *begin = &content.records[1].event,
                          *end = &content.records[2].event;
    assert_int_equal(push->type, SL_EVENT_MARK);
    assert_int_equal(push->flags, SL_MARK_PUSH);
    assert_int_equal(push->a, 7);
    assert_int_equal(push->c, SL_MARKS_NVTX);
    assert_int_equal(push->tick, 3);
    assert_string_equal(push->text, "forward");
    assert_int_equal(begin->flags, SL_MARK_BEGIN);
    assert_int_equal(begin->id, 99);
    assert_int_equal(begin->c, SL_MARKS_SLUICE);
    assert_int_equal(begin->tick, 4);
    assert_string_equal(begin->text, "epoch");
    assert_int_equal(end->flags, SL_MARK_END);
    assert_int_equal(end->id, 99);
    assert_string_equal(end->text, "");
    trace_content_free(&content);
}

static void a_domain_has_its_number_and_as_much_of_its_name_as_fits(void **state)
{
    (void)state;
    static char name[4000];
    memset(name, 'n', sizeof name - 1);
    open_trace();
    sl_runtime_mark_domain(12, "cuBLAS");
    sl_runtime_mark_domain(UINT32_MAX, name);
    struct trace_content content = recorded(2);
    assert_int_equal(content.records[0].event.type, SL_EVENT_METADATA);
    assert_int_equal(content.records[0].event.flags, SL_METADATA_TEXT);
    assert_string_equal(content.records[0].event.text, "nvtx_domain_12=cuBLAS");
    const char *long_one = content.records[1].event.text;
    assert_memory_equal(long_one, "nvtx_domain_4294967295=nnn", 26);
    assert_in_range(strlen(long_one), 100, sizeof name);
    trace_content_free(&content);
}

static void an_error_has_its_launch_or_the_newest(void **state)
{
    (void)state;
    newest = 20;
    open_trace();
    sl_runtime_failed(SL_ERROR_LAUNCH, 719, 18, 0, 0);
    sl_runtime_failed(SL_ERROR_ALLOCATION, 2, 0, SL_GIB, UINT64_MAX);
    struct trace_content content = recorded(2);
    const struct sl_event *launch = &content.records[0].event, *allocation = &content.records[1].event;
    assert_int_equal(launch->type, SL_EVENT_ERROR);
    assert_int_equal(launch->flags, SL_ERROR_LAUNCH);
    assert_int_equal(launch->id, 719);
    assert_int_equal(launch->tick, 18);
    assert_int_equal(allocation->flags, SL_ERROR_ALLOCATION);
    assert_int_equal(allocation->id, 2);
    assert_int_equal(allocation->tick, 20);
    assert_int_equal(allocation->a, SL_GIB);
    assert_int_equal(allocation->c, UINT64_MAX);
    trace_content_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_trace_nothing_is_recorded),
        cmocka_unit_test(a_wait_is_as_long_as_it_was),
        cmocka_unit_test(a_wait_that_began_before_the_trace_is_not_recorded),
        cmocka_unit_test(marks_keep_their_names),
        cmocka_unit_test(a_domain_has_its_number_and_as_much_of_its_name_as_fits),
        cmocka_unit_test(an_error_has_its_launch_or_the_newest),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
