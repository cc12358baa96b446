/* A trace says how the program orders its streams from the first collective on: `sluice plan` replays ranks
 * by that. Without collectives it costs no record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "trace_file.h"

static char path[] = "/tmp/sluice-orders-XXXXXX";

static int start(void **state)
{
    int fd = mkstemp(path);
    if (fd < 0) return -1;
    close(fd);
    setenv("SLUICE_TRACE", path, 1);
    setenv("SLUICE_TRACE_FULL", "wait", 1);
    return core_start(state);
}

static int stop(void **state)
{
    (void)state;
    return unlink(path);
}

static void orders_are_written_from_the_first_collective_on(void **state)
{
    (void)state;
    static const struct sl_event expected[] = {
        {.tick = 1, .flags = SL_ORDER_RECORD, .a = 0, .b = 0x11},
        {.tick = 1, .flags = SL_ORDER_WAIT, .a = 7, .b = 0x11},
        {.tick = 2, .flags = SL_ORDER_RECORD, .a = 7, .b = 0x22},
    };
    size_t found = 0;
    sl_runtime_event_recorded((void *)0x99, NULL);
    sl_runtime_stream_waits((sl_stream)7, (void *)0x99);
    core_launch((struct sl_launch){.kind = SL_LAUNCH_COLLECTIVE});
    sl_runtime_event_recorded((void *)0x11, NULL);
    sl_runtime_stream_waits((sl_stream)7, (void *)0x11);
    core_launch((struct sl_launch){.kind = SL_LAUNCH_COLLECTIVE});
    sl_runtime_event_recorded((void *)0x22, (sl_stream)7);
    core_stop(NULL);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        if (event->type != SL_EVENT_ORDER) continue;
        assert_true(found < 3);
        assert_int_equal(event->tick, expected[found].tick);
        assert_int_equal(event->flags, expected[found].flags);
        assert_int_equal(event->a, expected[found].a);
        assert_int_equal(event->b, expected[found].b);
        found++;
    }
    assert_int_equal(found, 3);
    trace_content_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_written_from_the_first_collective_on)};
    return cmocka_run_group_tests(tests, start, stop);
}
