/* What was charged must come back exactly, whatever the order, and never more than was charged. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "charge.h"
#include "runtime.h"

static _Atomic int64_t charged, lowest;

/* Stands where the core is, which sums this up. */
void sl_runtime_charge(int64_t bytes)
{
    int64_t now = atomic_fetch_add(&charged, bytes) + bytes;
    if (now < atomic_load(&lowest)) atomic_store(&lowest, now);
}

static void only_what_was_charged_comes_back(void **state)
{
    (void)state;
    sl_uncharge(SL_CHARGE_ADDRESS, 0x1000);
    sl_charge(SL_CHARGE_ADDRESS, 0x1000, 100);
    sl_charge(SL_CHARGE_PHYSICAL, 0x1000, 10);
    sl_uncharge(SL_CHARGE_ARRAY, 0x1000);
    assert_int_equal(charged, 110);
    sl_uncharge(SL_CHARGE_ADDRESS, 0x1000);
    sl_uncharge(SL_CHARGE_ADDRESS, 0x1000);
    assert_int_equal(charged, 10);
    sl_charge(SL_CHARGE_PHYSICAL, 0x1000, 30); /* a handle that the driver gave out anew */
    assert_int_equal(charged, 30);
    sl_uncharge(SL_CHARGE_PHYSICAL, 0x1000);
    assert_int_equal(charged, 0);
    assert_int_equal(lowest, 0);
}

static void many_in_any_order(void **state)
{
    enum { COUNT = 5000 };
    static bool live[COUNT];
    (void)state;
    int64_t expected = 0;
    uint32_t random = 1;
    for (int i = 0; i < 20 * COUNT; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t k = (random >> 8) % COUNT;
        uint64_t address = ((uint64_t)k << 21) + 1, bytes = k + 1;
        if (live[k])
            sl_uncharge(SL_CHARGE_ADDRESS, address);
        else
            sl_charge(SL_CHARGE_ADDRESS, address, bytes);
        expected += live[k] ? -(int64_t)bytes : (int64_t)bytes;
        live[k] = !live[k];
        assert_int_equal(charged, expected);
    }
    for (uint32_t k = 0; k < COUNT; k++) sl_uncharge(SL_CHARGE_ADDRESS, ((uint64_t)k << 21) + 1);
    assert_int_equal(charged, 0);
}

static void *charge_and_uncharge(void *first)
{
    uint64_t base = (uint64_t)(uintptr_t)first;
    for (int round = 0; round < 20; round++) {
        for (uint64_t k = 0; k < 200; k++) sl_charge(SL_CHARGE_ADDRESS, base + k * 4096, 7);
        for (uint64_t k = 0; k < 200; k++) sl_uncharge(SL_CHARGE_ADDRESS, base + k * 4096);
    }
    return NULL;
}

static void by_several_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (uintptr_t t = 0; t < 4; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, charge_and_uncharge, (void *)((t + 1) << 32)), 0);
    for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
    assert_int_equal(charged, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_charged_comes_back),
        cmocka_unit_test(many_in_any_order),
        cmocka_unit_test(by_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
