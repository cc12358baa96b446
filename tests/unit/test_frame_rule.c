/* Tables as compilers and others write them: what a step reads by them, and which are left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/stack_walk.h"

#ifdef __x86_64__

enum { START = 0x1000, CODE = 0x100, MOST = 256 };

/* What the instructions are called here. */
#define AT(offset) 0x40 | (offset)                /* from `offset` bytes further on */
#define SAVED(which, words) 0x80 | (which), words /* below the CFA */
#define RESTORED(which) 0xc0 | (which)
#define CFA(which, bytes) 0x0c, which, bytes
#define CFA_REGISTER(which) 0x0d, which
#define CFA_OFFSET(bytes) 0x0e, bytes
#define REMEMBER 0x0a
#define RESTORE 0x0b
enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10, R12 = 12, RIP = 16 };

/* A section: the common entry at 0, the function's behind it. */
static uint8_t section[2 * MOST];

struct text {
    const uint8_t *bytes;
    size_t count;
};
#define TEXT(...) ((struct text){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

static void put(size_t *at, const void *bytes, size_t count)
{
    memcpy(section + *at, bytes, count);
    *at += count;
}

static void put_number(size_t *at, uint32_t number)
{
    put(at, &number, sizeof number);
}

/* Returns the function's entry. `letters` has its NUL; a unit of data is 8 bytes down. */
static const uint8_t *write_section(const char *letters, struct text augmentation, struct text common,
                                    struct text function)
{
    size_t at = 0, end;
    memset(section, 0, sizeof section);
    put_number(&at, 0);
    put_number(&at, 0);
    put(&at, "\1", 1);
    put(&at, letters, strlen(letters) + 1);
    put(&at, "\1\x78\x10", 3); /* code unit 1, data unit -8, return address 16 */
    if (*letters == 'z') {
        uint8_t count = (uint8_t)augmentation.count;
        put(&at, &count, 1);
    }
    put(&at, augmentation.bytes, augmentation.count);
    put(&at, common.bytes, common.count);
    end = at;
    at = 0;
    put_number(&at, (uint32_t)(end - 4));
    at = end;
    put_number(&at, (uint32_t)(4 + 8 + (*letters == 'z') + function.count));
    put_number(&at, (uint32_t)at);
    put_number(&at, START);
    put_number(&at, CODE);
    if (*letters == 'z') put(&at, "\0", 1);
    put(&at, function.bytes, function.count);
    return section + end;
}

/* With what functions of C begin with: CFA = rsp + 8, the return address below it. */
static bool read_rule(struct text function, uintptr_t code, struct sl_frame_rule *rule)
{
    const uint8_t *entry = write_section("zR", TEXT(0x1b), TEXT(CFA(RSP, 8), SAVED(RIP, 1)), function);
    return sl_frame_rule_read(entry, START, START + code, rule);
}

static void expect_cfa(struct text function, uintptr_t code, int base, int offset)
{
    struct sl_frame_rule rule;
    assert_true(read_rule(function, code, &rule));
    assert_int_equal(rule.base, base);
    assert_int_equal(rule.offset, offset);
    assert_int_equal(rule.address_at, -8);
    assert_false(rule.held);
}

static void the_rule_is_that_of_the_call(void **state)
{
    (void)state;
    struct text function =
        TEXT(AT(1), CFA_OFFSET(16), SAVED(RBP, 2), AT(3), CFA_REGISTER(RBP), AT(0x20), CFA(RSP, 8));
    expect_cfa(function, 1, RSP, 8);
    expect_cfa(function, 2, RSP, 16);
    expect_cfa(function, 4, RSP, 16);
    expect_cfa(function, 5, RBP, 16);
    expect_cfa(function, 0x24, RBP, 16);
    expect_cfa(function, 0x25, RSP, 8);
}

static void what_is_saved_is_read(void **state)
{
    struct sl_frame_rule rule;
    (void)state;
    struct text function =
        TEXT(AT(1), CFA_OFFSET(48), SAVED(RBX, 5), SAVED(R12, 4), SAVED(RBP, 3), AT(9), RESTORED(RBP));
    assert_true(read_rule(function, 1, &rule));
    assert_false(rule.saves_pointer);
    assert_int_equal(rule.from_cfa.lowest, -8);
    assert_true(read_rule(function, 5, &rule));
    assert_true(rule.saves_pointer);
    assert_int_equal(rule.pointer_at, -24);
    assert_int_equal(rule.from_cfa.lowest, -40);
    assert_int_equal(rule.from_cfa.highest, -8);
    assert_true(rule.from_pointer.lowest > rule.from_pointer.highest);
    assert_true(read_rule(function, 11, &rule));
    assert_false(rule.saves_pointer);
}

static void states_are_remembered(void **state)
{
    (void)state;
    struct text function = TEXT(AT(1), CFA_OFFSET(32), REMEMBER, AT(8), CFA_OFFSET(8), AT(1), RESTORE);
    expect_cfa(function, 9, RSP, 32);
    expect_cfa(function, 10, RSP, 8);
    expect_cfa(function, 11, RSP, 32);
}

/* A function that aligns its frame has the CFA in it, and what it saves below its frame pointer. */
static void frames_that_are_aligned(void **state)
{
    struct sl_frame_rule rule;
    (void)state;
    struct text function = TEXT(AT(5), CFA(R10, 0), AT(12), 0x10, RBP, 2, 0x76, 0, AT(2), 0x0f, 3, 0x76, 0x78,
                                0x06, 0x10, R12, 2, 0x76, 0x70);
    assert_true(read_rule(function, 0x30, &rule));
    assert_true(rule.held && rule.saves_pointer && rule.pointer_at_pointer);
    assert_int_equal(rule.base, RBP);
    assert_int_equal(rule.offset, -8);
    assert_int_equal(rule.pointer_at, 0);
    assert_int_equal(rule.from_pointer.lowest, -16);
    assert_int_equal(rule.from_pointer.highest, 0);
    assert_true(read_rule(function, 6, &rule));
    assert_int_equal(rule.base, R10);
}

static void wide_operands(void **state)
{
    (void)state;
    expect_cfa(TEXT(0x02, 0x80, CFA_OFFSET(16)), 0x81, RSP, 16);
    expect_cfa(TEXT(0x02, 0x80, CFA_OFFSET(16)), 0x80, RSP, 8);
    expect_cfa(TEXT(0x03, 0x80, 0, CFA_OFFSET(16)), 0x81, RSP, 16);
    expect_cfa(TEXT(0x04, 0x80, 0, 0, 0, 0x0e, 0x90, 0x80, 0x04), 0x81, RSP, 0x10010);
    expect_cfa(TEXT(0x13, 0x7e), 1, RSP, 16);
    expect_cfa(TEXT(0x12, RBP, 0x7d), 1, RBP, 24);
    expect_cfa(TEXT(0x2e, 0x20, 0x05, RBX, 2, 0x06, RBX, 0x11, RBX, 3, 0x08, RBX), 1, RSP, 8);
}

static void refused(struct text function)
{
    struct sl_frame_rule rule = {.offset = 77}, before = rule;
    assert_false(read_rule(function, 0x40, &rule));
    assert_memory_equal(&rule, &before, sizeof rule);
}

static void what_ends_a_walk_or_is_not_understood(void **state)
{
    struct sl_frame_rule rule;
    (void)state;
    refused(TEXT(0x07, RIP));    /* the outermost function */
    refused(TEXT(0x14, RBX, 1)); /* a value, not a place: the unwinder would end the program */
    refused(TEXT(0x16, RBX, 2, 0x77, 0));
    refused(TEXT(0x09, RIP, RBX));      /* in another register */
    refused(TEXT(0x0f, 2, 0x12, 0x06)); /* other expressions */
    refused(TEXT(0x0f, 3, 0x77, 8, 0x1c));
    refused(TEXT(0x10, RBX, 2, 0x77, 8));
    refused(TEXT(0x10, RIP, 2, 0x76, 8));
    refused(TEXT(CFA(40, 8))); /* no such register */
    refused(TEXT(0x05, 40, 1));
    refused(TEXT(SAVED(RSP, 2)));                      /* a stack pointer that is not the CFA */
    refused(TEXT(CFA_OFFSET(12)));                     /* not of whole words */
    refused(TEXT(0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f)); /* too far */
    refused(TEXT(0x05, RBX, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f));
    refused(TEXT(RESTORE)); /* nothing to restore */
    refused(TEXT(REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER));
    refused(TEXT(0x3f)); /* unknown */
    refused(TEXT(0x2d)); /* of other processors */
    refused(TEXT(0x0e)); /* cut off */
    refused(TEXT(0x0f, 9, 0x77));
    assert_false(read_rule(TEXT(0), 0, &rule)); /* outside the function */
}

static bool read_letters(const char *letters, struct text augmentation)
{
    struct sl_frame_rule rule;
    const uint8_t *entry = write_section(letters, augmentation, TEXT(CFA(RSP, 8), SAVED(RIP, 1)), TEXT(0));
    return sl_frame_rule_read(entry, START, START + 1, &rule);
}

static void entries_of_other_kinds(void **state)
{
    (void)state;
    assert_true(read_letters("zPLR", TEXT(0x9b, 1, 2, 3, 4, 0x1b, 0x1b)));
    assert_true(read_letters("zR", TEXT(0x03)));
    assert_false(read_letters("zRS", TEXT(0x1b))); /* made by a signal */
    assert_false(read_letters("zQ", TEXT(0x1b)));
    assert_false(read_letters("eh", TEXT(0)));
    assert_false(read_letters("zR", TEXT(0x01)));
    assert_false(read_letters("zP", TEXT(0x9b, 1)));
    assert_false(read_letters("zRLPRLPRLPR", TEXT(0x1b)));
}

/* Whatever the instructions are, they are read to their end at most; the address sanitizer looks on. */
static void any_bytes(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        struct sl_frame_rule rule;
        uint8_t bytes[24];
        for (size_t j = 0; j < sizeof bytes; j++) bytes[j] = (uint8_t)(rand() % (j % 3 ? 256 : 24));
        const uint8_t *entry = write_section("zR", TEXT(0x1b), TEXT(CFA(RSP, 8), SAVED(RIP, 1)),
                                             (struct text){bytes, sizeof bytes});
        size_t common = (size_t)(entry - section), function = 4 + 4 + 8 + 1 + sizeof bytes;
        uint8_t *exact = malloc(common + function);
        memcpy(exact, section, common + function);
        if (sl_frame_rule_read(exact + common, START, START + 0x80, &rule)) assert_in_range(rule.base, 0, 15);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_is_that_of_the_call),
        cmocka_unit_test(what_is_saved_is_read),
        cmocka_unit_test(states_are_remembered),
        cmocka_unit_test(frames_that_are_aligned),
        cmocka_unit_test(wide_operands),
        cmocka_unit_test(what_ends_a_walk_or_is_not_understood),
        cmocka_unit_test(entries_of_other_kinds),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77; /* the tables above are of x86-64 */
}

#endif
