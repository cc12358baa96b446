/* What commands print with: tables line up and are cut only on a terminal, colours and bars go to terminals
 * alone, JSON is JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/text/help.h"
#include "tools/text/json.h"
#include "tools/text/progress.h"
#include "tools/text/table.h"
#include "tools/text/terminal.h"

/* A terminal of `columns` whose user's side is `master`. */
struct screen {
    int master;
    FILE *slave;
};

static struct screen open_screen(unsigned short columns)
{
    struct screen screen = {.master = posix_openpt(O_RDWR | O_NOCTTY)};
    assert_true(screen.master >= 0);
    assert_int_equal(grantpt(screen.master), 0);
    assert_int_equal(unlockpt(screen.master), 0);
    int slave = open(ptsname(screen.master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    screen.slave = fdopen(slave, "r+");
    assert_non_null(screen.slave);
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(screen.master, TIOCSWINSZ, &size), 0);
    return screen;
}

static void close_screen(struct screen *screen)
{
    fclose(screen->slave);
    close(screen->master);
}

/* What was written to the screen. Its end is marked, since it may arrive late and in parts. */
static const char *shown(struct screen *screen)
{
    static char text[4096];
    size_t bytes = 0;
    fputc('\1', screen->slave);
    fflush(screen->slave);
    while (!bytes || text[bytes - 1] != '\1') {
        ssize_t got = read(screen->master, text + bytes, sizeof(text) - bytes);
        assert_true(got > 0);
        bytes += (size_t)got;
    }
    text[bytes - 1] = 0;
    return text;
}

static int plain_environment(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
    return 0;
}

static void colours_are_for_terminals_that_want_them(void **state)
{
    (void)state;
    struct screen screen = open_screen(100);
    assert_true(has_colours(screen.slave));
    assert_string_equal(style_text(screen.slave, STYLE_RED), "\033[31m");
    setenv("TERM", "dumb", 1);
    assert_false(has_colours(screen.slave));
    unsetenv("TERM");
    assert_false(has_colours(screen.slave));
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "", 1);
    assert_true(has_colours(screen.slave));
    setenv("NO_COLOR", "1", 1);
    assert_string_equal(style_text(screen.slave, STYLE_RED), "");
    close_screen(&screen);

    unsetenv("NO_COLOR");
    FILE *file = tmpfile();
    assert_false(has_colours(file));
    fclose(file);
}

static void width_is_the_terminals_or_what_COLUMNS_says(void **state)
{
    (void)state;
    struct screen screen = open_screen(123);
    FILE *file = tmpfile();
    assert_int_equal(terminal_width(screen.slave), 123);
    assert_int_equal(terminal_width(file), 80);
    setenv("COLUMNS", "40", 1);
    assert_int_equal(terminal_width(screen.slave), 40);
    assert_int_equal(terminal_width(file), 40);
    setenv("COLUMNS", "many", 1);
    assert_int_equal(terminal_width(screen.slave), 123);
    setenv("COLUMNS", "0", 1);
    assert_int_equal(terminal_width(file), 80);
    fclose(file);
    close_screen(&screen);
}

static void the_locale_decides_about_unicode(void **state)
{
    (void)state;
    assert_true(has_unicode());
    setenv("LC_ALL", "", 1);
    setenv("LC_CTYPE", "POSIX", 1);
    setenv("LANG", "en_US.utf8", 1);
    assert_false(has_unicode());
    unsetenv("LC_CTYPE");
    assert_true(has_unicode());
    assert_int_equal(text_columns("größer"), 6);
    assert_int_equal(text_prefix("größer", 3), 4);
    assert_int_equal(text_prefix("a", 3), 1);
}

static const struct table_column columns[] = {
    {"kernel", .text = true, .elastic = true}, {"launches"}, {"bytes"}, {"share"}};

static void fill(struct table *table)
{
    table_cell(table, "matmul_backward_with_a_long_näme");
    table_cell(table, "%d", 12);
    table_bytes(table, 3 << 20);
    table_share(table, 1, 3);
    table_cell(table, "set");
    table_cell(table, "%d", 12345678);
    table_bytes(table, 1536);
    table_share(table, 0, 0);
}

static const char *printed(FILE *file)
{
    static char text[4096];
    fflush(file);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    return text;
}

static void columns_line_up(void **state)
{
    (void)state;
    struct table table = {.columns = columns, .column_count = 4};
    fill(&table);
    FILE *file = tmpfile();
    setenv("COLUMNS", "40", 1); /* a file is never cut */
    assert_true(table_print(&table, file));
    assert_string_equal(printed(file), "kernel                            launches     bytes   share\n"
                                       "matmul_backward_with_a_long_näme        12     3 MiB  33.3 %\n"
                                       "set                               12345678  1.50 KiB       -\n");
    fclose(file);
    table_free(&table);
}

static void a_narrow_terminal_cuts_the_elastic_column(void **state)
{
    (void)state;
    struct table table = {.columns = columns, .column_count = 4};
    fill(&table);
    struct screen screen = open_screen(45);
    setenv("NO_COLOR", "1", 1);
    assert_true(table_print(&table, screen.slave));
    assert_string_equal(shown(&screen), "kernel             launches     bytes   share\r\n"
                                        "matmul_backward_…        12     3 MiB  33.3 %\r\n"
                                        "set                12345678  1.50 KiB       -\r\n");
    close_screen(&screen);
    table_free(&table);
}

/* A terminal that is too narrow for all columns would wrap each row. */
static void a_narrower_terminal_gets_the_columns_in_parts(void **state)
{
    (void)state;
    static const struct table_column wide[] = {{"kernel", .text = true, .elastic = true},
                                               {"launches"},
                                               {"bytes"},
                                               {"share"},
                                               {"last", .text = true}};
    struct table table = {.columns = wide, .column_count = 5};
    table_cell(&table, "matmul_backward_with_a_long_näme");
    for (int i = 0; i < 3; i++) table_cell(&table, "%d", 12345678);
    table_cell(&table, "some");
    struct screen screen = open_screen(40);
    setenv("NO_COLOR", "1", 1);
    assert_true(table_print(&table, screen.slave));
    assert_string_equal(shown(&screen), "kernel                          launches\r\n"
                                        "matmul_backward_with_a_long_n…  12345678\r\n"
                                        "\r\n"
                                        "kernel                             bytes\r\n"
                                        "matmul_backward_with_a_long_n…  12345678\r\n"
                                        "\r\n"
                                        "kernel                       share  last\r\n"
                                        "matmul_backward_with_a_…  12345678  some\r\n");
    close_screen(&screen);
    table_free(&table);
}

static void texts_are_cut_at_the_end_of_the_line(void **state)
{
    (void)state;
    struct screen screen = open_screen(12);
    print_fitted("größe", 7, screen.slave);
    fputs("\n", screen.slave);
    print_fitted("größer", 7, screen.slave);
    fputs("\n", screen.slave);
    print_fitted("größer", 12, screen.slave); /* no room at all */
    assert_string_equal(shown(&screen), "größe\r\ngröß…\r\ngrößer");
    close_screen(&screen);
    FILE *file = tmpfile();
    print_fitted("größer", 7, file);
    assert_string_equal(printed(file), "größer");
    fclose(file);
}

static void an_empty_table_is_its_titles(void **state)
{
    (void)state;
    struct table table = {.columns = columns, .column_count = 4};
    FILE *file = tmpfile();
    assert_true(table_print(&table, file));
    assert_string_equal(printed(file), "kernel  launches  bytes  share\n");
    fclose(file);
    table_free(&table);
}

static void times_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } times[] = {{0, "0 ns"},          {999, "999 ns"},         {1000, "1.00 us"},
                 {12345, "12.3 us"},   {123456, "123 us"},      {9994999, "9.99 ms"},
                 {9995001, "10.0 ms"}, {75100000000, "75.1 s"}, {7200000000000, "7200 s"}};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        char text[TIME_TEXT];
        assert_string_equal(time_text(times[i].ns, text), times[i].text);
    }
}

static void json_is_written_as_it_is_read(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct json json = {.to = file};
    json_object(&json, NULL, true);
    json_number(&json, "largest", UINT64_MAX);
    json_address(&json, "somewhere", 0x7f00);
    json_text(&json, "name", "a \"b\" \\");
    json_text(&json, "nobody", NULL);
    json_array(&json, "rows", true);
    json_object(&json, NULL, false);
    json_real(&json, "share", 1.0 / 3, 3);
    json_real(&json, "none", NAN, 3);
    json_array(&json, "empty", true);
    json_close(&json);
    json_close(&json);
    json_object(&json, NULL, false);
    json_bool(&json, "yes", true);
    json_close(&json);
    json_close(&json);
    json_array(&json, "nothing", true);
    json_close(&json);
    json_close(&json);
    assert_string_equal(printed(file), "{\n"
                                       "  \"largest\": 18446744073709551615,\n"
                                       "  \"somewhere\": \"0x7f00\",\n"
                                       "  \"name\": \"a \\\"b\\\" \\\\\",\n"
                                       "  \"nobody\": null,\n"
                                       "  \"rows\": [\n"
                                       "    {\"share\": 0.333, \"none\": null, \"empty\": []},\n"
                                       "    {\"yes\": true}\n"
                                       "  ],\n"
                                       "  \"nothing\": []\n"
                                       "}\n");
    fclose(file);
}

static void help_is_as_wide_as_the_terminal_up_to_100_columns(void **state)
{
    (void)state;
    struct screen narrow = open_screen(40), wide = open_screen(200);
    FILE *file = tmpfile();
    assert_int_equal(help_width(narrow.slave), 40);
    assert_int_equal(help_width(wide.slave), 100);
    setenv("COLUMNS", "60", 1);
    assert_int_equal(help_width(narrow.slave), 60);
    assert_int_equal(help_width(file), 80); /* the same in every environment */
    fclose(file);
    close_screen(&narrow);
    close_screen(&wide);
}

static void long_lines_of_help_are_broken_at_spaces(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    print_wrapped(file,
                  "Usage: sluice x [--budget LIST] [--chunk LIST] FILE\n"
                  "Words that do not fit go on the next line.\n"
                  "\n"
                  "  --option a|b\n"
                  "      Its meaning, indented.\n"
                  "  term  its meäning, in a column\n"
                  "exactly thirty columns wide ..\n"
                  "  a-word-that-is-wider-than-the-line-itself or two\n",
                  30);
    assert_string_equal(printed(file), "Usage: sluice x\n"
                                       "       [--budget LIST]\n"
                                       "       [--chunk LIST] FILE\n"
                                       "Words that do not fit go on\n"
                                       "the next line.\n"
                                       "\n"
                                       "  --option a|b\n"
                                       "      Its meaning, indented.\n"
                                       "  term  its meäning, in a\n"
                                       "        column\n"
                                       "exactly thirty columns wide ..\n"
                                       "  a-word-that-is-wider-than-the-line-itself\n"
                                       "  or two\n");
    fclose(file);
}

/* Runs with `to` as stderr. */
static void progress_on(FILE *to, bool delayed)
{
    int old = dup(STDERR_FILENO);
    dup2(fileno(to), STDERR_FILENO);
    struct progress progress = {0};
    progress_start(&progress, "a file with a name", 200);
    if (!delayed) progress.next_ns = 0;
    progress_at(&progress, 100);
    progress_end(&progress);
    progress_end(&progress);
    dup2(old, STDERR_FILENO);
    close(old);
}

static void a_bar_is_for_terminals_and_what_takes_long(void **state)
{
    (void)state;
    struct screen screen = open_screen(40);
    progress_on(screen.slave, true);
    assert_string_equal(shown(&screen), "");
    progress_on(screen.slave, false);
    assert_string_equal(shown(&screen), "\ra file with a name [=======       ]  50%\r\033[K");
    close_screen(&screen);
    FILE *file = tmpfile();
    progress_on(file, false);
    assert_string_equal(printed(file), "");
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(colours_are_for_terminals_that_want_them, plain_environment),
        cmocka_unit_test_setup(width_is_the_terminals_or_what_COLUMNS_says, plain_environment),
        cmocka_unit_test_setup(the_locale_decides_about_unicode, plain_environment),
        cmocka_unit_test_setup(columns_line_up, plain_environment),
        cmocka_unit_test_setup(a_narrow_terminal_cuts_the_elastic_column, plain_environment),
        cmocka_unit_test_setup(a_narrower_terminal_gets_the_columns_in_parts, plain_environment),
        cmocka_unit_test_setup(texts_are_cut_at_the_end_of_the_line, plain_environment),
        cmocka_unit_test_setup(an_empty_table_is_its_titles, plain_environment),
        cmocka_unit_test_setup(times_have_three_digits, plain_environment),
        cmocka_unit_test_setup(json_is_written_as_it_is_read, plain_environment),
        cmocka_unit_test_setup(help_is_as_wide_as_the_terminal_up_to_100_columns, plain_environment),
        cmocka_unit_test_setup(long_lines_of_help_are_broken_at_spaces, plain_environment),
        cmocka_unit_test_setup(a_bar_is_for_terminals_and_what_takes_long, plain_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
