#include "plan/plan_victims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan_check.h"

enum { CHUNKS = 40 };

struct known {
    bool there;
    double deadline, last, price;
};

static double rank(const struct sl_victims *v, const struct known *x, double now)
{
    return (x->deadline - now + v->weight * (now - x->last)) / x->price;
}

/* Against looking at all of them. Prices are rounded to steps of 18 %, so the best may be that much worse. */
static void check_best(const struct sl_victims *v, const struct known *known, double now)
{
    double most = -1;
    for (size_t i = 0; i < CHUNKS; i++)
        if (known[i].there && rank(v, &known[i], now) > most) most = rank(v, &known[i], now);
    sl_chunk best = sl_victims_best(v, now);
    if (most < 0) {
        assert_int_equal(best, SL_NONE);
        return;
    }
    assert_true(known[best].there);
    assert_true(rank(v, &known[best], now) >= most / 1.19 - 1e-9);
}

static void test_the_best_is_the_best_at_any_time(void **state)
{
    (void)state;
    static const double weights[] = {0, 0.5, 1};
    uint64_t seed = 7;
    for (size_t w = 0; w < 3; w++) {
        struct sl_victims v;
        struct known known[CHUNKS] = {0};
        assert_int_equal(sl_victims_new(CHUNKS, weights[w], &v), SL_OK);
        for (double now = 0; now < 3000; now++) {
            sl_chunk c = random_below(&seed, CHUNKS);
            if (known[c].there && (random_below(&seed, 2) || known[c].deadline <= now + 1)) {
                sl_victims_remove(&v, c);
                known[c].there = false;
            } else if (!known[c].there) {
                known[c] =
                    (struct known){true, 4000 + random_below(&seed, 9000), now - random_below(&seed, 500),
                                   0.05 * (1 + random_below(&seed, 200))};
                assert_true(sl_victims_add(&v, c, known[c].deadline, known[c].last, known[c].price));
            }
            check_best(&v, known, now);
        }
        sl_victims_free(&v);
    }
}

static void test_the_dead_are_in_the_order_of_their_deaths(void **state)
{
    (void)state;
    struct sl_victims v;
    assert_int_equal(sl_victims_new(4, 0, &v), SL_OK);
    assert_int_equal(v.dead_first, SL_NONE);
    for (sl_chunk c = 0; c < 4; c++) sl_victims_add_dead(&v, 3 - c);
    sl_victims_remove_dead(&v, 2);
    assert_int_equal(v.dead_first, 3);
    sl_victims_remove_dead(&v, 3);
    assert_int_equal(v.dead_first, 1);
    sl_victims_remove_dead(&v, 1);
    sl_victims_remove_dead(&v, 0);
    assert_int_equal(v.dead_first, SL_NONE);
    assert_int_equal(sl_victims_best(&v, 0), SL_NONE);
    sl_victims_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_is_the_best_at_any_time),
        cmocka_unit_test(test_the_dead_are_in_the_order_of_their_deaths),
    };
    return cmocka_run_group_tests_name("plan-victims", tests, NULL, NULL);
}
