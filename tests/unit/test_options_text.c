/* The option table in words: every option is there, as it is read, and a page of Markdown stays a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/text/option_flags.h"

static char *text; /* what was printed last */

static FILE *begin(void)
{
    static size_t bytes;
    free(text);
    text = NULL;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    return to;
}

static void print(bool markdown)
{
    FILE *to = begin();
    sl_options_print(to, markdown);
    fclose(to);
}

static int drop_text(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    return 0;
}

/* The line of `text` that begins with `start`; ends the test if there is none, or a second one. */
static char *line_of(const char *start)
{
    static char line[4096];
    const char *found = NULL;
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, start, strlen(start)) != 0) continue;
        assert_null(found);
        found = at;
    }
    assert_non_null(found);
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(found, "\n"), found);
    return line;
}

static void every_option_has_its_flag_its_variable_and_its_default(void **state)
{
    (void)state;
    char start[64], rest[512], allowed[128], fallback[64];
    print(false);
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
        const struct sl_option_row *row = &sl_option_rows[i];
        bool takes_value;
        assert_ptr_equal(sl_options_env_for_flag(row->flag, &takes_value), row->env);
        snprintf(start, sizeof(start), "  --%s%s", row->flag, takes_value ? " " : "");
        snprintf(rest, sizeof(rest), "%s%s", start, takes_value ? row->names : "");
        assert_string_equal(line_of(takes_value ? start : rest), rest);
        snprintf(start, sizeof(start), "      %s: ", row->env);
        sl_option_describe_allowed(row, allowed, sizeof(allowed));
        sl_option_describe_number(row, row->fallback, fallback, sizeof(fallback));
        snprintf(rest, sizeof(rest), "%s%s; default: %s", start, allowed, fallback);
        assert_string_equal(line_of(start), rest);
    }
}

/* Values of an ENUM are separated by what also separates cells. */
static void a_row_of_markdown_has_its_five_cells(void **state)
{
    (void)state;
    char start[64];
    print(true);
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
        const struct sl_option_row *row = &sl_option_rows[i];
        snprintf(start, sizeof(start), "| `%s` | `--%s` | ", row->env, row->flag);
        const char *line = line_of(start);
        unsigned bars = 0;
        for (const char *at = line; *at; at++) bars += *at == '|';
        assert_int_equal(bars, 6);
        assert_string_equal(line + strlen(line) - 2, " |");
    }
    assert_non_null(strstr(text, "| plan, next, belady, lru, demand, driver, off | plan |"));
    assert_non_null(strstr(text, "\n| --- | --- | --- | --- | --- |\n| `SLUICE_"));
}

/* What is said to be allowed is: words and parser agree on names, and on the ends of each range. */
static void what_is_allowed_is_said(void **state)
{
    (void)state;
    char allowed[128], value[64], ignored[128];
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
        const struct sl_option_row *row = &sl_option_rows[i];
        sl_option_describe_allowed(row, allowed, sizeof(allowed));
        if (row->type == TYPE_ENUM) {
            uint64_t count = 1;
            for (const char *at = allowed; *at; at++) count += *at == '|';
            for (uint64_t n = 0; n < count; n++) {
                sl_option_describe_number(row, n, value, sizeof(value));
                assert_true(sl_options_check(row->env, value, ignored, sizeof(ignored)));
                assert_non_null(strstr(allowed, value));
            }
        } else if (row->type == TYPE_INTEGER || row->type == TYPE_NUMBER) {
            snprintf(value, sizeof(value), "%llu to %llu", (unsigned long long)row->low,
                     (unsigned long long)row->high);
            assert_string_equal(allowed, value);
            for (uint64_t beyond = 0; beyond < 2; beyond++) {
                snprintf(value, sizeof(value), "%llu", (unsigned long long)(row->high + beyond));
                assert_int_equal(sl_options_check(row->env, value, ignored, sizeof(ignored)), !beyond);
            }
        } else if ((row->type == TYPE_BYTES && row->low) || row->type == TYPE_POWER) {
            assert_non_null(strstr(allowed, "or 0"));
            assert_true(sl_options_check(row->env, "0", ignored, sizeof(ignored)));
        }
        assert_false(sl_options_check(row->env, "", ignored, sizeof(ignored)));
    }
}

static void values_in_force_are_lines(void **state)
{
    (void)state;
    struct sl_options values = {.device_budget = 3 * SL_GIB / 2,
                                .backing = "from:1G=pinned",
                                .policy = SL_POLICY_DRIVER,
                                .trace = "/tmp/t.%p",
                                .trace_full = SL_TRACE_WAIT,
                                .profile = "",
                                .stats = "",
                                .live = "",
                                .log = "",
                                .node = "",
                                .sysfs = "",
                                .plan_attempts = 100000};
    FILE *to = begin();
    sl_options_print_values(to, &values);
    fclose(to);
    unsigned lines = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    assert_int_equal(lines, SL_OPTION_COUNT);
    static const char *const expected[] = {
        "SLUICE_DEVICE_BUDGET   1.50 GiB",       "SLUICE_CHUNK           automatic",
        "SLUICE_BACKING         from:1G=pinned", "SLUICE_POLICY          driver",
        "SLUICE_DAEMON          thread",         "SLUICE_TRACE           /tmp/t.%p",
        "SLUICE_TRACE_FULL      wait",           "SLUICE_PLAN_ATTEMPTS   100000",
        "SLUICE_PROFILE         none",           "SLUICE_TRACE_LIMIT     0 B",
        "SLUICE_HOST_RESERVE    automatic",      "SLUICE_VERBOSE         0",
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        char start[64];
        snprintf(start, sizeof(start), "%.*s ", (int)strcspn(expected[i], " "), expected[i]);
        assert_string_equal(line_of(start), expected[i]);
    }
}

static void words_are_cut_to_fit(void **state)
{
    (void)state;
    char whole[128], out[128];
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
        for (size_t bytes = 1; bytes < 16; bytes++) {
            for (int number = 0; number < 2; number++) {
                memset(out, 'x', sizeof(out));
                if (number) {
                    sl_option_describe_number(&sl_option_rows[i], 0, whole, sizeof(whole));
                    sl_option_describe_number(&sl_option_rows[i], 0, out, bytes);
                } else {
                    sl_option_describe_allowed(&sl_option_rows[i], whole, sizeof(whole));
                    sl_option_describe_allowed(&sl_option_rows[i], out, bytes);
                }
                assert_true(strlen(out) < bytes);
                assert_memory_equal(out, whole, strlen(out));
                assert_int_equal(out[bytes], 'x');
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_option_has_its_flag_its_variable_and_its_default, drop_text),
        cmocka_unit_test_teardown(a_row_of_markdown_has_its_five_cells, drop_text),
        cmocka_unit_test(what_is_allowed_is_said),
        cmocka_unit_test_teardown(values_in_force_are_lines, drop_text),
        cmocka_unit_test(words_are_cut_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
