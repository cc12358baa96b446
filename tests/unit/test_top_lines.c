/* What `sluice top` says of figures that are rare. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/top/top.h"

#define MS UINT64_C(1000000)

static struct top_lines lines;
static struct sl_monitor_record record;

/* Whether a line of a program with one device contains the text. */
static bool shows(uint64_t looked_ns, const char *text)
{
    struct runs runs = {.all = &record, .count = 1, .looked_ns = looked_ns};
    top_write_lines(&lines, &runs, 80, false);
    for (uint32_t i = 0; i < lines.count; i++)
        if (strstr(lines.all[i].text, text)) return true;
    return false;
}

static struct sl_stats *begin(void)
{
    struct sl_stats *figures = &record.figures[0];
    memset(&record, 0, sizeof(record));
    record.devices = 1;
    *figures = (struct sl_stats){.updated_ns = 500 * MS,
                                 .steps = 9,
                                 .step_began_ns = 400 * MS,
                                 .step_time_ns = 20 * MS,
                                 .step = {.launches = 50, .stalls = 3}};
    return figures;
}

static void stalls_are_a_part_of_the_step(void **state)
{
    (void)state;
    struct sl_stats *figures = begin();
    figures->device_step_ns = 20 * MS;
    figures->device_stall_ns = 15 * MS;
    assert_true(shows(500 * MS, "by the device's clock 20.0 ms: 15.0 ms stalled (75.0 %), 5.00 ms not"));
    figures->device_stall_ns = 20 * MS;
    assert_true(shows(500 * MS, "stalled (100.0 %)"));
}

/* Streams that wait at the same time wait longer together than the step takes. */
static void stalls_of_several_streams_are_no_part(void **state)
{
    (void)state;
    struct sl_stats *figures = begin();
    figures->device_step_ns = 20 * MS;
    figures->device_stall_ns = 52 * MS;
    assert_true(shows(500 * MS, "by the device's clock 20.0 ms; its streams stalled for 52.0 ms together"));
    assert_false(shows(500 * MS, "%), "));
}

static void a_misprediction_was_some_time_ago(void **state)
{
    (void)state;
    struct sl_stats *figures = begin();
    figures->mispredicted_ns = figures->updated_ns;
    strcpy(figures->came, "adamw");
    assert_true(shows(502 * MS, "2.00 ms ago came adamw"));
    assert_true(shows(500 * MS, "just now came adamw"));
    assert_true(shows(499 * MS, "just now came adamw"));
}

static int end(void **state)
{
    (void)state;
    top_lines_free(&lines);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stalls_are_a_part_of_the_step),
        cmocka_unit_test(stalls_of_several_streams_are_no_part),
        cmocka_unit_test(a_misprediction_was_some_time_ago),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
