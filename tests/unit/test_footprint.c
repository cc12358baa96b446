/* What graphs may touch: breaks if an address of a part is lost, listed twice for one parameter, or if two
 * graphs that differ are taken for one. */
#include "launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan_check.h"

enum { PARTS = 5, MOST_WORDS = 40 };

static struct sl_footprint *join(struct sl_footprint *const *parts, size_t count)
{
    struct sl_footprint *joined = sl_footprint_join((const struct sl_footprint *const *)parts, count);
    assert_non_null(joined);
    return joined;
}

static uint64_t shape_of(struct sl_footprint *const *parts, size_t count)
{
    struct sl_footprint *joined = join(parts, count);
    uint64_t shape = joined->shape;
    free(joined);
    return shape;
}

static void a_footprint_is_a_copy(void **state)
{
    (void)state;
    struct sl_word words[] = {{.address = 1, .bytes = 2, .parameter = 3, .threads = 4, .where = 5},
                              {.address = 6, .only_read = true}};
    struct sl_footprint *footprint = sl_footprint_new(77, words, 2), *empty = sl_footprint_new(78, NULL, 0);
    words[0].address = 0;
    assert_true(footprint->shape == 77 && footprint->count == 2);
    assert_true(footprint->words[0].address == 1 && footprint->words[0].where == 5);
    assert_true(footprint->words[1].address == 6 && footprint->words[1].only_read);
    assert_true(empty->shape == 78 && empty->count == 0);
    free(footprint);
    free(empty);
}

static uint64_t draw(uint64_t *seed, uint32_t most)
{
    return random_below(seed, most);
}

static struct sl_footprint *random_part(uint64_t *seed)
{
    struct sl_word words[MOST_WORDS];
    uint32_t count = random_below(seed, MOST_WORDS + 1);
    for (uint32_t w = 0; w < count; w++)
        words[w] = (struct sl_word){.address = 4096 * (1 + draw(seed, 12)),
                                    .parameter = draw(seed, 3),
                                    .bytes = draw(seed, 4) ? 1 + draw(seed, 100) : 0,
                                    .threads = draw(seed, 50),
                                    .where = w,
                                    .only_read = draw(seed, 3) > 0};
    return sl_footprint_new(draw(seed, 1000), words, count);
}

/* The first mention of the address for the parameter, in all parts; its number among the first mentions. */
static const struct sl_word *first_mention(struct sl_footprint *const *parts, uint32_t number)
{
    for (size_t p = 0; p < PARTS; p++)
        for (uint32_t w = 0; parts[p] && w < parts[p]->count; w++) {
            const struct sl_word *word = &parts[p]->words[w];
            bool is_first = true;
            for (size_t q = 0; q <= p; q++)
                for (uint32_t v = 0; parts[q] && v < parts[q]->count && (q < p || v < w); v++)
                    is_first &= parts[q]->words[v].address != word->address ||
                                parts[q]->words[v].parameter != word->parameter;
            if (is_first && !number--) return word;
        }
    return NULL;
}

/* The longest, unknown if one of them is; the most threads; only read if all only read. */
static void check_joined(struct sl_footprint *const *parts, const struct sl_word *joined)
{
    struct sl_word expected = {.only_read = true};
    bool known = true;
    for (size_t p = 0; p < PARTS; p++)
        for (uint32_t w = 0; parts[p] && w < parts[p]->count; w++) {
            const struct sl_word *word = &parts[p]->words[w];
            if (word->address != joined->address || word->parameter != joined->parameter) continue;
            known &= word->bytes != 0;
            if (word->bytes > expected.bytes) expected.bytes = word->bytes;
            if (word->threads > expected.threads) expected.threads = word->threads;
            expected.only_read &= word->only_read;
        }
    assert_int_equal(joined->bytes, known ? expected.bytes : 0);
    assert_int_equal(joined->threads, expected.threads);
    assert_int_equal(joined->only_read, expected.only_read);
}

static void each_address_is_listed_once_for_a_parameter(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int round = 0; round < 300; round++) {
        struct sl_footprint *parts[PARTS];
        for (int p = 0; p < PARTS; p++) parts[p] = random_below(&seed, 5) ? random_part(&seed) : NULL;
        struct sl_footprint *joined = join(parts, PARTS);
        for (uint32_t w = 0; w < joined->count; w++) {
            const struct sl_word *first = first_mention(parts, w);
            assert_true(first && first->address == joined->words[w].address &&
                        first->parameter == joined->words[w].parameter);
            assert_int_equal(joined->words[w].where, w);
            check_joined(parts, &joined->words[w]);
        }
        assert_null(first_mention(parts, joined->count));
        free(joined);
        for (int p = 0; p < PARTS; p++) free(parts[p]);
    }
}

static void nothing_joined_is_nothing(void **state)
{
    (void)state;
    struct sl_footprint *parts[] = {NULL, NULL}, *joined = join(parts, 2), *none = join(NULL, 0);
    assert_int_equal(joined->count, 0);
    assert_int_equal(none->count, 0);
    free(joined);
    free(none);
}

/* Graphs of equal shape are one symbol where their addresses are: so which parts there are, and in which
 * order, is in it. Addresses are not. */
static void the_shape_depends_on_the_parts(void **state)
{
    (void)state;
    struct sl_word word = {.address = 4096}, other = {.address = 8192};
    struct sl_footprint *a = sl_footprint_new(1, &word, 1), *b = sl_footprint_new(2, &word, 1),
                        *elsewhere = sl_footprint_new(1, &other, 1);
    uint64_t shape = shape_of((struct sl_footprint *[]){a, b}, 2);
    assert_int_equal(shape_of((struct sl_footprint *[]){elsewhere, b}, 2), shape);
    assert_int_not_equal(shape_of((struct sl_footprint *[]){b, a}, 2), shape);
    assert_int_not_equal(shape_of((struct sl_footprint *[]){a, b, NULL}, 3), shape);
    assert_int_not_equal(shape_of((struct sl_footprint *[]){a, NULL, b}, 3),
                         shape_of((struct sl_footprint *[]){a, b, NULL}, 3));
    assert_int_not_equal(shape_of(&a, 1), shape_of(&b, 1));
    free(a);
    free(b);
    free(elsewhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_footprint_is_a_copy),
        cmocka_unit_test(each_address_is_listed_once_for_a_parameter),
        cmocka_unit_test(nothing_joined_is_nothing),
        cmocka_unit_test(the_shape_depends_on_the_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
