/* Strings and line tables as CPython has them in memory; damaged ones end the reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/python_frames.h"

enum { COMPACT = 1 << 5, ASCII = 1 << 6 };

/* A str object of CPython 3.`minor`, whose characters have `kind` bytes each. */
static const char *text_object(unsigned minor, unsigned kind, bool ascii, const void *data, uint64_t length)
{
    static char object[512];
    uint32_t state = kind << 2 | COMPACT | (ascii ? ASCII : 0);
    size_t at = minor < 12 ? (ascii ? 48 : 72) : (ascii ? 40 : 56);
    memset(object, 0, sizeof object);
    memcpy(object + 16, &length, sizeof length);
    memcpy(object + 32, &state, sizeof state);
    memcpy(object + at, data, length * kind);
    return object;
}

static void texts_of_each_kind_become_utf_8(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 13; minor++) {
        char out[64] = "";
        sl_python_text(text_object(minor, 1, true, "train.py", 8), minor, out, sizeof out);
        assert_string_equal(out, "train.py");
        sl_python_text(text_object(minor, 1, false, "\xe4", 1), minor, out, sizeof out);
        assert_string_equal(out, "train.pyä");
        static const uint16_t two[] = {0x4e2d, 0xd800, 'x'};
        static const uint32_t four[] = {0x1f600, 0x110000, '\n'};
        out[0] = 0;
        sl_python_text(text_object(minor, 2, false, two, 3), minor, out, sizeof out);
        assert_string_equal(out, "中?x");
        out[0] = 0;
        sl_python_text(text_object(minor, 4, false, four, 3), minor, out, sizeof out);
        assert_string_equal(out, "\U0001f600??");
    }
}

static void long_texts_are_cut_at_a_whole_character(void **state)
{
    (void)state;
    char out[8] = "abc";
    static const uint16_t two[] = {0x4e2d, 0x4e2d, 0x4e2d, 0x4e2d};
    sl_python_text(text_object(13, 2, false, two, 2), 13, out, sizeof out);
    assert_string_equal(out, "abc中");
    sl_python_text(text_object(13, 3, false, two, 2), 13, out, sizeof out); /* no such kind */
    assert_string_equal(out, "abc中");
}

/* Tables that CPython 3.11 and later make (dis.findlinestarts of functions with these lines). */
static void each_kind_of_entry_has_its_line(void **state)
{
    (void)state;
    static const uint8_t table[] = {
        0x80 | 11 << 3 | 0,
        0,
        4, /* unit 0: one line further, with columns */
        0x80 | 3 << 3 | 1,
        0x12, /* units 1, 2: the same line, short */
        0x80 | 13 << 3 | 0,
        9 << 1 & 0x3f,      /* unit 3: 9 lines further, no columns */
        0x80 | 15 << 3 | 0, /* unit 4: no location */
        0x80 | 14 << 3 | 2,
        3,
        0,
        1,
        2, /* units 5 to 7: one line back, long form */
        0x80 | 13 << 3 | 0,
        0x40 | 8,
        4, /* unit 8: a number of two groups: 132 lines further */
    };
    static const uint32_t lines[] = {101, 101, 101, 110, 0, 109, 109, 109, 241};
    for (uint64_t at = 0; at < 9; at++)
        assert_int_equal(sl_python_line(table, sizeof table, 100, at), lines[at]);
    assert_int_equal(sl_python_line(table, sizeof table, 100, 9), 0);
    assert_int_equal(sl_python_line(table, 0, 100, 0), 0);
}

/* Whatever bytes there are, the reading ends, within the table (the sanitizers see that). */
static void any_bytes_are_read_to_an_end(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        uint8_t table[24];
        for (size_t b = 0; b < sizeof table; b++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            table[b] = (uint8_t)(seed >> 56);
        }
        for (size_t bytes = 0; bytes <= sizeof table; bytes++) sl_python_line(table, bytes, 7, seed >> 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_each_kind_become_utf_8),
        cmocka_unit_test(long_texts_are_cut_at_a_whole_character),
        cmocka_unit_test(each_kind_of_entry_has_its_line),
        cmocka_unit_test(any_bytes_are_read_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
