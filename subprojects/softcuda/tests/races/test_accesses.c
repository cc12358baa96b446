/* Which bytes were accessed, and how, from what a kernel's threads did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/accesses.h"

#define BASE UINT64_C(0x7f0000000000)

struct expected {
    uint64_t begin, end;
    enum sc_access_kind kind;
    bool content_read;
};

static void expect(struct sc_accesses *accesses, const struct expected *expected, size_t count)
{
    struct sc_accessed *ranges;
    size_t found;
    assert_true(sc_accesses_ranges(accesses, &ranges, &found));
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ranges[i].begin - BASE, expected[i].begin);
        assert_int_equal(ranges[i].end - BASE, expected[i].end);
        assert_int_equal(ranges[i].kind, expected[i].kind);
        assert_int_equal(ranges[i].content_read, expected[i].content_read);
    }
    free(ranges);
    sc_accesses_free(accesses);
}
#define EXPECT(accesses, ...)                                                                                \
    expect(accesses, (const struct expected[]){__VA_ARGS__},                                                 \
           sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static void add(struct sc_accesses *accesses, uint64_t begin, uint64_t end, enum sc_access_kind kind)
{
    sc_accesses_add(accesses, BASE + begin, end - begin, kind);
}

/* Breaks if a range grows, shrinks or is split at a word or a page. */
static void ranges_are_exact(void **state)
{
    (void)state;
    struct sc_accesses accesses = {0};
    add(&accesses, 3, 7, SC_ACCESS_READ);
    add(&accesses, 7, 8, SC_ACCESS_READ);
    add(&accesses, 60, 70, SC_ACCESS_WRITE);
    add(&accesses, 65530, 200000, SC_ACCESS_WRITE);
    EXPECT(&accesses, {3, 8, SC_ACCESS_READ, true}, {60, 70, SC_ACCESS_WRITE, false},
           {65530, 200000, SC_ACCESS_WRITE, false});
}

/* Breaks if the order of a thread's own accesses is lost. */
static void content_counts_until_it_is_written(void **state)
{
    (void)state;
    struct sc_accesses accesses = {0};
    add(&accesses, 0, 4, SC_ACCESS_WRITE);
    add(&accesses, 0, 8, SC_ACCESS_READ);
    add(&accesses, 4, 8, SC_ACCESS_WRITE);
    add(&accesses, 8, 12, SC_ACCESS_PUBLISH);
    add(&accesses, 8, 12, SC_ACCESS_READ);
    EXPECT(&accesses, {0, 4, SC_ACCESS_WRITE, false}, {4, 8, SC_ACCESS_WRITE, true},
           {8, 12, SC_ACCESS_UPDATE, false});
}

static void kinds_are_kept_apart(void **state)
{
    (void)state;
    struct sc_accesses accesses = {0};
    add(&accesses, 0, 4, SC_ACCESS_POLL);
    add(&accesses, 4, 8, SC_ACCESS_POLL);
    add(&accesses, 4, 8, SC_ACCESS_READ);
    add(&accesses, 8, 12, SC_ACCESS_UPDATE);
    add(&accesses, 12, 16, SC_ACCESS_UPDATE);
    add(&accesses, 12, 16, SC_ACCESS_WRITE);
    EXPECT(&accesses, {0, 4, SC_ACCESS_POLL, true}, {4, 8, SC_ACCESS_READ, true},
           {8, 12, SC_ACCESS_UPDATE, true}, {12, 16, SC_ACCESS_WRITE, true});
}

/* Two workers of one launch: what one only wrote may have been written before the other read it, as by the
 * last block of a reduction; what both read first was there before. */
static void parts_have_no_order(void **state)
{
    (void)state;
    struct sc_accesses one = {0}, other = {0};
    add(&one, 0, 4, SC_ACCESS_WRITE);
    add(&other, 0, 8, SC_ACCESS_READ);
    add(&one, 8, 12, SC_ACCESS_UPDATE);
    add(&other, 8, 12, SC_ACCESS_UPDATE);
    add(&one, 12, 16, SC_ACCESS_POLL);
    add(&other, 12, 16, SC_ACCESS_PUBLISH);
    add(&other, 1 << 20, (1 << 20) + 1, SC_ACCESS_POLL);
    sc_accesses_merge(&one, &other);
    sc_accesses_free(&other);
    EXPECT(&one, {0, 4, SC_ACCESS_WRITE, false}, {4, 8, SC_ACCESS_READ, true},
           {8, 12, SC_ACCESS_UPDATE, true}, {12, 16, SC_ACCESS_UPDATE, false},
           {1 << 20, (1 << 20) + 1, SC_ACCESS_POLL, true});
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    struct sc_accesses accesses = {0};
    struct sc_accessed *ranges;
    size_t count;
    assert_true(sc_accesses_ranges(&accesses, &ranges, &count));
    assert_null(ranges);
    assert_int_equal(count, 0);
    sc_accesses_free(&accesses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_exact),     cmocka_unit_test(content_counts_until_it_is_written),
        cmocka_unit_test(kinds_are_kept_apart), cmocka_unit_test(parts_have_no_order),
        cmocka_unit_test(nothing_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
