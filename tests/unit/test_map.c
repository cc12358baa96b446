/* The hash map against a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"

#define KEYS 3000

static void agrees_with_an_array(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_an_array),
                                       cmocka_unit_test(small_words_in_any_order_hash_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
