/* Lines of the kernel's files: whatever their length, and whether or not the last one ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text_file.h"
#include "kernel_files.h"

static struct sl_text_file file;

static void lines_are_read_one_by_one(void **state)
{
    (void)state;
    char *line;
    put("/folder/lines", "one\n\nthree 3\nlast");
    assert_true(sl_text_open(&file, kernel_files, "/folder", "/lines"));
    static const char *const expected[] = {"one", "", "three 3", "last"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(sl_text_line(&file, &line));
        assert_string_equal(line, expected[i]);
    }
    assert_false(sl_text_line(&file, &line));
    assert_false(sl_text_line(&file, &line));
    sl_text_close(&file);
    sl_text_close(&file);
    put("/empty", "");
    assert_true(sl_text_open(&file, kernel_files, "", "/empty"));
    assert_false(sl_text_line(&file, &line));
    sl_text_close(&file);
    assert_false(sl_text_open(&file, kernel_files, "", "/none"));
}

/* The file is longer than the buffer, and so is one of its lines. */
static void lines_that_are_too_long_are_left_out(void **state)
{
    (void)state;
    static const size_t lengths[] = {
        3, SL_LINE_BYTES - 2, SL_LINE_BYTES - 1, SL_LINE_BYTES, 5 * SL_LINE_BYTES, 7};
    char *text = calloc(10, SL_LINE_BYTES), *at = text, *line;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        memset(at, 'a' + (int)i, lengths[i]);
        at[lengths[i]] = '\n';
        at += lengths[i] + 1;
    }
    put("/long", text);
    assert_true(sl_text_open(&file, kernel_files, "/", "long"));
    assert_true(sl_text_line(&file, &line) && strlen(line) == 3);
    assert_true(sl_text_line(&file, &line) && line[0] == 'b' && strlen(line) == SL_LINE_BYTES - 2);
    assert_true(sl_text_line(&file, &line) && line[0] == 'f' && strlen(line) == 7);
    assert_false(sl_text_line(&file, &line));
    sl_text_close(&file);
    free(text);
}

static void a_number_stands_behind_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key;
        uint64_t number; /* 0: none */
    } cases[] = {
        {"active_file 5\nfile 7\n", "file", 7},
        {"file_mapped 5\n", "file", 0},
        {"file -5\n", "file", 0},
        {"MemAvailable:    9 kB\n", "MemAvailable:", 9},
        {"12\n", "", 12},
        {"max\n", "", 0},
        {"\n", "", 0},
        {"", "", 0},
        {"file\n", "file", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t number = 0;
        put("/stat", cases[i].text);
        bool found = sl_text_number(&file, kernel_files, "", "/stat", cases[i].key, &number);
        assert_int_equal(found, cases[i].number != 0);
        assert_int_equal(number, cases[i].number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_are_read_one_by_one, make_kernel_files, remove_kernel_files),
        cmocka_unit_test_setup_teardown(lines_that_are_too_long_are_left_out, make_kernel_files,
                                        remove_kernel_files),
        cmocka_unit_test_setup_teardown(a_number_stands_behind_its_name, make_kernel_files,
                                        remove_kernel_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
