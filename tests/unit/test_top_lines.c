/* What `sluice top` says of figures that are rare, and how it fits them into its screen. */
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
    assert_true(shows(500 * MS, "by the device's clock 20.0 ms; streams stalled 52.0 ms together"));
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

/* Before the first visit to the allocations nothing is known of what is on the device: not even that it is
 * unused. */
static void what_fills_the_budget_is_not_yet_known(void **state)
{
    (void)state;
    struct sl_stats *figures = begin();
    figures->budget_now_bytes = figures->occupied_bytes = 60 * SL_MIB;
    assert_true(shows(500 * MS, "what that is, is not yet known"));
    assert_true(shows(500 * MS, "[::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::]"));
    assert_false(shows(500 * MS, "unused"));
    figures->scanned_ns = 400 * MS;
    figures->kinds[SL_KIND_LASTING] = (struct sl_kind_bytes){20 * SL_MIB, 20 * SL_MIB};
    figures->unallocated_bytes = 10 * SL_MIB;
    assert_false(shows(500 * MS, "not yet known"));
    assert_true(shows(500 * MS,
                      "[####################----------::::::::::::::::::::::::::::::]")); /* 30 came since */
}

/* With two programs of 300 MiB on devices of three each; the second has some long names. */
static void begin_programs(struct sl_monitor_record *records, struct runs *runs, uint32_t count)
{
    begin();
    record.figures[0].budget_now_bytes = record.figures[0].occupied_bytes = 60 * SL_MIB;
    record.figures[0].need_bytes = 100 * SL_MIB;
    record.figures[0].scanned_ns = 1;
    for (int k = 0; k < SL_KINDS; k++) record.figures[0].kinds[k] = (struct sl_kind_bytes){SL_MIB, SL_MIB};
    record.figures[0].device_step_ns = 20 * MS;
    record.figures[0].device_stall_ns = 5 * MS;
    record.figures[0].mispredicted_ns = 1;
    memset(record.figures[0].came, 'k', SL_STATS_NAME - 1);
    strcpy(record.figures[0].expected, "a copy, slot 12 (2 MiB)");
    for (uint32_t r = 0; r < count; r++) {
        records[r] = record;
        records[r].process = 1000 + r;
        snprintf(records[r].program, sizeof(records[r].program),
                 r ? "a-program-with-a-long-name-0123" : "gpt");
    }
    *runs = (struct runs){.all = records, .count = count, .looked_ns = 500 * MS};
}

static bool has(const char *text)
{
    for (uint32_t i = 0; i < lines.count; i++)
        if (strstr(lines.all[i].text, text) || strstr(lines.all[i].right, text)) return true;
    return false;
}

static struct sl_monitor_record programs[3];

static void no_line_is_cut(void **state)
{
    (void)state;
    static const unsigned widths[] = {40, 60, 80, 132, 150, 200};
    struct runs runs;
    begin_programs(programs, &runs, 3);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int unicode = 0; unicode < 2; unicode++) {
            top_write_lines(&lines, &runs, widths[w], unicode);
            for (uint32_t i = 0; i < lines.count; i++) {
                const struct top_line *line = &lines.all[i];
                assert_in_range(text_columns(line->text), 0, line->right_at ? line->right_at - 1 : widths[w]);
                assert_in_range(line->right_at + text_columns(line->right), 0, widths[w]);
            }
            top_write_keys(&lines, widths[w]);
            for (uint32_t i = 0; i < lines.count; i++)
                assert_in_range(text_columns(lines.all[i].text), 0, widths[w]);
        }
}

static void one_program_fits_into_24_rows(void **state)
{
    (void)state;
    struct runs runs;
    begin_programs(programs, &runs, 1);
    for (unsigned width = 60; width <= 80; width += 20) {
        top_write_lines(&lines, &runs, width, true);
        assert_in_range(lines.count, 15, 23);
        assert_true(has("gpt, process 1000"));
    }
}

/* A line for each of several programs; their figures are side by side where there is room for both. */
static void several_programs_have_a_line_each(void **state)
{
    (void)state;
    struct runs runs;
    begin_programs(programs, &runs, 2);
    top_write_lines(&lines, &runs, 60, false);
    assert_true(has("    1000 gpt            60 MiB   100 MiB   20.0 ms    25 %"));
    assert_true(has("    1001 a-program-w    60 MiB   100 MiB   20.0 ms    25 %"));
    uint32_t rows = lines.count;
    for (uint32_t i = 0; i < rows; i++) assert_string_equal(lines.all[i].right, "");
    top_write_lines(&lines, &runs, 200, false);
    assert_true(lines.count < rows * 2 / 3);
    bool beside = false;
    for (uint32_t i = 0; i < lines.count; i++)
        beside |=
            strstr(lines.all[i].text, "gpt, process 1000") && strstr(lines.all[i].right, "process 1001");
    assert_true(beside);
    begin_programs(programs, &runs, 3);
    top_write_lines(&lines, &runs, 200, false);
    assert_true(has("process 1002: policy"));
}

static void what_has_ended_is_shown_for_some_seconds(void **state)
{
    (void)state;
    struct runs runs;
    begin_programs(programs, &runs, 2);
    past_note(&runs.past, programs, 2, 1000 * MS);
    past_note(&runs.past, programs + 1, 1, 2000 * MS);
    runs = (struct runs){.all = programs + 1, .count = 1, .looked_ns = 4000 * MS, .past = runs.past};
    top_write_lines(&lines, &runs, 80, false);
    assert_true(has("    1000 gpt ended 2.00 s ago, after 9 steps; it needed 100 MiB"));
    past_note(&runs.past, programs + 1, 1, 2000 * MS + PAST_SHOWN_NS + 1);
    top_write_lines(&lines, &runs, 80, false);
    assert_false(has(" ended"));
    past_note(&runs.past, programs, 2, 99000 * MS);
    past_note(&runs.past, programs + 1, 1, 99100 * MS);
    past_note(&runs.past, programs, 2, 99200 * MS); /* another one of this number */
    runs.all = programs, runs.count = 2;
    top_write_lines(&lines, &runs, 80, false);
    assert_false(has(" ended"));
    past_free(&runs.past);
}

/* One mark for each look after a step has ended. */
static void steps_have_a_history(void **state)
{
    (void)state;
    static const uint64_t took[] = {20, 20, 27, 34, 20};
    struct runs runs;
    begin_programs(programs, &runs, 1);
    for (size_t i = 0; i < sizeof took / sizeof *took; i++)
        for (int look = 0; look < 2; look++) {
            programs[0].figures[0].steps = 10 + i;
            programs[0].figures[0].device_step_ns = took[i] * MS;
            past_note(&runs.past, programs, 1, 1000 * MS);
        }
    top_write_lines(&lines, &runs, 80, false);
    assert_true(has("  steps   __=#_ 20.0 ms to 34.0 ms"));
    programs[0].figures[0].device_step_ns = 0; /* from now on by the host's clock, which may be another */
    programs[0].figures[0].steps++;
    past_note(&runs.past, programs, 1, 1000 * MS);
    top_write_lines(&lines, &runs, 80, false);
    assert_false(has("  steps   "));
    for (int i = 0; i < 3 * PAST_STEPS; i++) {
        programs[0].figures[0].steps++;
        programs[0].figures[0].device_step_ns = (i % 2 ? 20 : 30) * MS;
        past_note(&runs.past, programs, 1, 1000 * MS);
    }
    top_write_lines(&lines, &runs, 60, false);
    assert_true(has("  steps   #_#_#_#_#_#_#_#_#_#_ 20.0 ms to 30.0 ms"));
    past_free(&runs.past);
}

/* Over the same steps as their duration: a step's copies over the time of others would exceed the link. */
static void speeds_are_over_one_window(void **state)
{
    (void)state;
    struct sl_stats *figures = begin();
    figures->link_in_bytes_per_s = 20000000000;
    figures->step.bytes_in[SL_CAUSE_PLAN] = 990000000;
    assert_true(shows(500 * MS, "in      49.5 GB/s of 20.0 GB/s (248 %)")); /* by the host's clock */
    figures->device_step_ns = 10 * MS;
    figures->recent_ns = 100 * MS;
    figures->recent.bytes_in[SL_CAUSE_PLAN] = 1000000000;
    assert_true(shows(500 * MS, "in      10.0 GB/s of 20.0 GB/s (50 %)"));
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
        cmocka_unit_test(what_fills_the_budget_is_not_yet_known),
        cmocka_unit_test(no_line_is_cut),
        cmocka_unit_test(one_program_fits_into_24_rows),
        cmocka_unit_test(several_programs_have_a_line_each),
        cmocka_unit_test(what_has_ended_is_shown_for_some_seconds),
        cmocka_unit_test(steps_have_a_history),
        cmocka_unit_test(speeds_are_over_one_window),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
