/* How far apart two words are, and sizes for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void distances_count_edits(void **state)
{
    (void)state;
    static const struct {
        const char *one, *other;
        unsigned edits;
    } pairs[] = {
        {"", "", 0},
        {"run", "", 3},
        {"trace", "Trace", 0},
        {"trcae", "trace", 1},
        {"tracee", "trace", 1},
        {"trac", "trace", 1},
        {"treca", "trace", 2}, /* no neighbours: not a swap */
        {"kitten", "sitting", 3},
        {"ca", "abc", 3}, /* restricted: no edit between swapped letters */
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        assert_int_equal(sl_edit_distance(pairs[i].one, pairs[i].other), pairs[i].edits);
        assert_int_equal(sl_edit_distance(pairs[i].other, pairs[i].one), pairs[i].edits);
    }
}

/* The rows that are worked with have a fixed length; a variable's name comes from the environment. */
static void long_words_are_far_from_everything(void **state)
{
    (void)state;
    char longest[64], longer[65], very_long[5000];
    memset(longest, 'a', sizeof(longest) - 1);
    memset(longer, 'a', sizeof(longer) - 1);
    memset(very_long, 'a', sizeof(very_long) - 1);
    longest[sizeof(longest) - 1] = longer[sizeof(longer) - 1] = very_long[sizeof(very_long) - 1] = 0;
    assert_int_equal(sl_edit_distance(longest, longest), 0);
    assert_int_equal(sl_edit_distance(longest, ""), 63);
    assert_true(sl_edit_distance(longer, longer) > 63);
    assert_true(sl_edit_distance(longer, longest) > 63);
    assert_true(sl_edit_distance(longest, longer) > 63);
    assert_true(sl_edit_distance("a", very_long) > 63);
    assert_false(sl_is_near(longer, sl_edit_distance(longer, longer)));
}

/* A short word is near to nearly every other one if as much may differ as in a long one. */
static void shorter_words_have_to_be_nearer(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        unsigned most;
    } words[] = {{"", 1}, {"run", 1}, {"info", 2}, {"profile", 2}, {"timeline", 3}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        assert_true(sl_is_near(words[i].word, 0));
        assert_true(sl_is_near(words[i].word, words[i].most));
        assert_false(sl_is_near(words[i].word, words[i].most + 1));
    }
}

static void sizes_take_the_largest_unit_that_they_fill(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {1536, "1.50 KiB"},
        {2 * SL_MIB, "2 MiB"},
        {SL_MIB - 1, "1024.0 KiB"},
        {99 * SL_MIB + SL_MIB / 2, "99.50 MiB"},
        {100 * SL_MIB + SL_MIB / 2, "100.5 MiB"},
        {3 * SL_GIB / 2, "1.50 GiB"},
        {SL_GIB << 10, "1 TiB"},
        {UINT64_MAX, "16.00 EiB"},
    };
    char text[SL_BYTES_TEXT];
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        assert_ptr_equal(sl_bytes_text(sizes[i].bytes, text), text);
        assert_string_equal(text, sizes[i].text);
    }
}

/* What is safe to print stays, everything else becomes question marks of the same length. */
static void expect(const char *text, const char *safe)
{
    char copy[128];
    snprintf(copy, sizeof(copy), "%s", text);
    sl_defuse(copy);
    assert_string_equal(copy, safe);
}

static void letters_stay(void **state)
{
    (void)state;
    expect("", "");
    expect("void adam<float>(float*, int) ~", "void adam<float>(float*, int) ~");
    expect("\u00e9\u03bb\u4e2d\u05d0\u0627\u200b\u2027\u202f\u2065\u206a\u200d\U0001f600",
           "\u00e9\u03bb\u4e2d\u05d0\u0627\u200b\u2027\u202f\u2065\u206a\u200d\U0001f600");
}

static void controls_do_not(void **state)
{
    (void)state;
    expect("a\nb\tc\033[2J\x7f", "a?b?c?[2J?");
    expect("\xc2\x80\xc2\x9b"
           "31m\xc2\x9f",
           "????31m??");
    expect("\u2028\u2029", "??????");
}

/* All characters that override, embed, isolate or mark a direction. */
static void the_direction_stays(void **state)
{
    static const char *const marks[] = {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c",
                                        "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"};
    (void)state;
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        char text[32], safe[32];
        snprintf(text, sizeof(text), "gpt%strap", marks[i]);
        snprintf(safe, sizeof(safe), "gpt%.*strap", (int)strlen(marks[i]), "???");
        expect(text, safe);
    }
}

static void what_is_no_text_does_not(void **state)
{
    (void)state;
    expect("\xff\x80 \xe2\x80", "?? ??");
    expect("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80", "?????????");
    expect("\xf0\x9f\x98", "???");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_count_edits),
        cmocka_unit_test(long_words_are_far_from_everything),
        cmocka_unit_test(shorter_words_have_to_be_nearer),
        cmocka_unit_test(sizes_take_the_largest_unit_that_they_fill),
        cmocka_unit_test(letters_stay),
        cmocka_unit_test(controls_do_not),
        cmocka_unit_test(the_direction_stays),
        cmocka_unit_test(what_is_no_text_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
