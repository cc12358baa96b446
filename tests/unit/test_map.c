/* The hash map against a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"

#define KEYS 3000

static void keys_agree_with_an_array(void **state)
{
    (void)state;
    struct sl_map map = {0};
    uint32_t expected[KEYS];
    for (int i = 0; i < KEYS; i++) expected[i] = SL_NONE;
    srand(3);
    for (int round = 0; round < 60000; round++) {
        uint32_t key = (uint32_t)(rand() % KEYS);
        if (rand() % 3 == 0) {
            sl_map_remove(&map, key * 4096 + 1);
            expected[key] = SL_NONE;
        } else {
            expected[key] = (uint32_t)round;
            assert_true(sl_map_put(&map, key * 4096 + 1, (uint32_t)round));
        }
    }
    size_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        assert_int_equal(sl_map_get(&map, i * 4096 + 1), expected[i]);
        count += expected[i] != SL_NONE;
    }
    assert_int_equal(map.count, count);
    sl_map_free(&map);
    assert_int_equal(sl_map_get(&map, 1), SL_NONE);
}

/* Small numbers are what slots, kinds and sites of tests are: (1, 5) must not be (2, 4), nor (5, 1). */
static void small_words_in_any_order_hash_apart(void **state)
{
    (void)state;
    struct sl_map map = {0};
    for (uint32_t a = 0; a < 200; a++)
        for (uint32_t b = 0; b < 200; b++) {
            uint64_t hash = sl_hash_word(a, b) | 1;
            assert_int_equal(sl_map_get(&map, hash), SL_NONE);
            assert_true(sl_map_put(&map, hash, a));
        }
    sl_map_free(&map);
}

/* Ranges against a plain array of addresses. */
#define SPACE 2000

static void ranges_agree_with_an_array(void **state)
{
    (void)state;
    struct sl_ranges ranges = {0};
    uint32_t owner[SPACE], begins[SPACE];
    for (int i = 0; i < SPACE; i++) owner[i] = SL_NONE;
    srand(5);
    for (uint32_t round = 0; round < 30000; round++) {
        uint32_t begin = (uint32_t)(rand() % (SPACE - 20)), end = begin + 1 + (uint32_t)(rand() % 20);
        uint32_t first = SL_NONE;
        for (uint32_t at = begin; at < end && first == SL_NONE; at++) first = owner[at];
        assert_int_equal(sl_ranges_overlap(&ranges, begin, end), first);
        if (first == SL_NONE) {
            assert_true(sl_ranges_put(&ranges, begin, end, round));
            for (uint32_t at = begin; at < end; at++) {
                owner[at] = round;
                begins[at] = begin;
            }
        } else if (rand() % 2) {
            uint32_t at = begin;
            while (owner[at] == SL_NONE) at++;
            if (begin > begins[at]) sl_ranges_remove(&ranges, begin); /* none begins there */
            sl_ranges_remove(&ranges, begins[at]);
            for (uint32_t i = 0; i < SPACE; i++)
                if (owner[i] == first) owner[i] = SL_NONE;
        }
        uint32_t probe = (uint32_t)(rand() % SPACE);
        assert_int_equal(sl_ranges_find(&ranges, probe), owner[probe]);
    }
    sl_ranges_free(&ranges);
    assert_int_equal(sl_ranges_find(&ranges, 1), SL_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_agree_with_an_array),
        cmocka_unit_test(small_words_in_any_order_hash_apart),
        cmocka_unit_test(ranges_agree_with_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
