/* How much of their peak tensor cores reach, by the shape of a product. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "matrix_share.h"

enum { PROCESSORS = 128 };

static double share(uint64_t m, uint64_t n, uint64_t k, uint64_t batch)
{
    return sc_matrix_share(&(struct sc_matrix_work){SC_RATE_HALF, m, n, k, batch}, PROCESSORS);
}

static void large_products_are_near_the_peak(void **state)
{
    (void)state;
    assert_true(share(8192, 8192, 8192, 1) > 0.8);
    assert_true(share(8192, 8192, 8192, 1) <= 0.85);
    assert_true(share(4096, 32000, 4096, 1) > 0.7);
}

static void small_ones_are_not(void **state)
{
    (void)state;
    assert_true(share(512, 512, 512, 1) < 0.5);
    assert_true(share(8192, 1, 8192, 1) < 0.02); /* of 64 columns of a tile one is used */
    assert_true(share(8192, 8192, 64, 1) < 0.6);
    assert_true(share(64, 64, 64, 1) < share(64, 64, 64, 1000));
    assert_true(share(128, 128, 16384, 1) > 8 * share(128, 128, 128, 1)); /* several share one sum */
}

/* One tile more than there are multiprocessors takes a second round. */
static void the_last_round_counts(void **state)
{
    (void)state;
    assert_true(share(256 * PROCESSORS, 128, 4096, 1) > 0.8);
    assert_true(share(256 * PROCESSORS + 256, 128, 4096, 1) < 0.8);
}

static void an_unknown_shape_has_a_share(void **state)
{
    (void)state;
    assert_true(share(0, 0, 0, 0) == 0.5);
    assert_true(sc_matrix_share(&(struct sc_matrix_work){SC_RATE_HALF, 64, 64, 64, 1}, 0) == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_products_are_near_the_peak),
        cmocka_unit_test(small_ones_are_not),
        cmocka_unit_test(the_last_round_counts),
        cmocka_unit_test(an_unknown_shape_has_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
