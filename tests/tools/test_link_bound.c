/* The bound of a step's time: compared with what was computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/plan/link_bound.h"

#define GB UINT64_C(1000000000)
#define BLOCK (UINT64_C(2) << 20)

/* Copies a block in 80 us, maps it in 100 and unmaps it in 16. */
static const struct link_load sample = {
    .computed_ns = 3000000,
    .bytes = {[SL_SIM_IN] = 40 * BLOCK, [SL_SIM_OUT] = 40 * BLOCK},
    .bytes_per_s = {[SL_SIM_IN] = BLOCK * 12500, [SL_SIM_OUT] = BLOCK * 12500},
    .call_bytes = 4 * BLOCK,
    .driver = {.map_ns = 100000, .unmap_ns = 16000, .both_percent = 75, .workers = 1},
    .threads = {[SL_SIM_IN] = 1, [SL_SIM_OUT] = 1},
    .all_threads = 2,
};

static void a_call_takes_its_copies_and_page_tables(void **state)
{
    (void)state;
    struct link_load load = sample;
    assert_float_equal(link_call_ns(&load, SL_SIM_OUT, BLOCK), 180000, 0.1);
    assert_float_equal(link_call_ns(&load, SL_SIM_OUT, 4 * BLOCK), 480000, 0.1); /* a copy, then maps */
    assert_float_equal(link_call_ns(&load, SL_SIM_IN, BLOCK), 96000, 0.1);
    assert_float_equal(link_call_ns(&load, SL_SIM_IN, 4 * BLOCK), 336000, 0.1); /* an unmap, then copies */
    load.bytes_per_s[SL_SIM_OUT] = load.bytes_per_s[SL_SIM_IN] = BLOCK * 5000;  /* 200 us */
    assert_float_equal(link_call_ns(&load, SL_SIM_OUT, 4 * BLOCK), 900000,
                       0.1);                      /* copies, then the last map */
    load.bytes_per_s[SL_SIM_IN] = BLOCK * 100000; /* 10 us */
    assert_float_equal(link_call_ns(&load, SL_SIM_IN, 4 * BLOCK), 74000,
                       0.1); /* unmaps, then the last copy */
    load.call_ns = 5000;
    assert_float_equal(link_call_ns(&load, SL_SIM_IN, 4 * BLOCK), 79000, 0.1);
    assert_float_equal(link_call_ns(&load, SL_SIM_OUT, BLOCK / 2), 5000 + 100000 + 100000, 0.1);
}

static void each_limit_is_computed_by_itself(void **state)
{
    (void)state;
    const struct link_bound bound = link_bound(&sample);
    const uint64_t expected[LINK_LIMITS] = {
        [LIMIT_COMPUTATION] = 3000000, [LIMIT_LINK_IN] = 3200000,     [LIMIT_LINK_OUT] = 3200000,
        [LIMIT_LINK_BOTH] = 4266666, /* 6.4 ms of the link, one and a half times at once */
        [LIMIT_THREADS_IN] = 3360000,  [LIMIT_THREADS_OUT] = 4800000, [LIMIT_THREADS_BOTH] = 4080000,
    };
    for (int l = 0; l < LINK_LIMITS; l++) assert_in_range(bound.ns[l], expected[l] - 1, expected[l] + 1);
    assert_int_equal(bound.limit, LIMIT_THREADS_OUT);
}

static void the_largest_limit_is_the_bound(void **state)
{
    (void)state;
    struct link_load load = sample;
    load.threads[SL_SIM_OUT] = 4;
    load.all_threads = 5;
    assert_int_equal(link_bound(&load).limit, LIMIT_LINK_BOTH);
    load.driver.both_percent = 100;
    assert_int_equal(link_bound(&load).limit, LIMIT_THREADS_IN);
    load.threads[SL_SIM_IN] = 4;
    load.all_threads = 2;
    assert_int_equal(link_bound(&load).limit, LIMIT_THREADS_BOTH);
    load.all_threads = 8;
    assert_int_equal(link_bound(&load).limit, LIMIT_LINK_IN);
    load.bytes_per_s[SL_SIM_OUT] -= GB;
    assert_int_equal(link_bound(&load).limit, LIMIT_LINK_OUT);
    load.computed_ns = 9000000;
    assert_int_equal(link_bound(&load).limit, LIMIT_COMPUTATION);
}

static void a_driver_that_only_copies_takes_no_threads(void **state)
{
    (void)state;
    struct link_load load = sample;
    load.all_threads = load.threads[SL_SIM_IN] = load.threads[SL_SIM_OUT] = 0;
    const struct link_bound bound = link_bound(&load);
    assert_int_equal(bound.ns[LIMIT_THREADS_OUT] | bound.ns[LIMIT_THREADS_IN] | bound.ns[LIMIT_THREADS_BOTH],
                     0);
    assert_int_equal(bound.limit, LIMIT_LINK_BOTH);
    load.bytes[SL_SIM_IN] = load.bytes[SL_SIM_OUT] = 0;
    assert_int_equal(link_bound(&load).limit, LIMIT_COMPUTATION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_takes_its_copies_and_page_tables),
        cmocka_unit_test(each_limit_is_computed_by_itself),
        cmocka_unit_test(the_largest_limit_is_the_bound),
        cmocka_unit_test(a_driver_that_only_copies_takes_no_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
