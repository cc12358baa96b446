/* Ranges against a plain array of addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"

#define SPACE 2000

static void agrees_with_an_array(void **state)
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_an_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
