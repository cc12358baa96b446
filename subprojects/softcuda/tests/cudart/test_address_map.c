/* The table of registered addresses. */
#include "address_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const void *key(size_t i)
{
    return (const void *)(uintptr_t)(0x400000 + 16 * i);
}

static void *value(size_t i)
{
    return (void *)(uintptr_t)(i + 1);
}

/* Breaks if growing loses an entry, or if a removed key hides another that was put behind it. */
static void test_many(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct sc_address_map map = {0};
    assert_null(sc_address_map_get(&map, key(0)));
    sc_address_map_remove(&map, key(0));
    for (size_t i = 0; i < COUNT; i++) assert_true(sc_address_map_put(&map, key(i), value(i)));
    for (size_t i = 0; i < COUNT; i += 3) sc_address_map_remove(&map, key(i));
    for (size_t i = 0; i < COUNT; i++)
        assert_ptr_equal(sc_address_map_get(&map, key(i)), i % 3 ? value(i) : NULL);
    for (size_t i = 0; i < COUNT; i++) assert_true(sc_address_map_put(&map, key(i), value(i + 7)));
    for (size_t i = 0; i < COUNT; i++) assert_ptr_equal(sc_address_map_get(&map, key(i)), value(i + 7));
    assert_null(sc_address_map_get(&map, key(COUNT)));
    free(map.slots);
}

/* Breaks if a library that is loaded and unloaded again and again fills the table with removed keys. */
static void test_churn(void **state)
{
    (void)state;
    struct sc_address_map map = {0};
    for (size_t i = 0; i < 100000; i++) {
        assert_true(sc_address_map_put(&map, key(i), value(i)));
        if (i >= 10) sc_address_map_remove(&map, key(i - 10));
    }
    assert_true(map.capacity <= 1024);
    free(map.slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many), cmocka_unit_test(test_churn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
