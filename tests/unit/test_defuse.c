/* What is safe to print stays, everything else becomes question marks of the same length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

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
        cmocka_unit_test(letters_stay),
        cmocka_unit_test(controls_do_not),
        cmocka_unit_test(the_direction_stays),
        cmocka_unit_test(what_is_no_text_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
