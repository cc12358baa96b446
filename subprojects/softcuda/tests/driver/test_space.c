/* The address space: alignment, look-up, reuse, and memory that costs nothing until it is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "space.h"

static void addresses_are_found_and_forgotten(void **state)
{
    (void)state;
    struct sc_allocation *a = sc_space_allocate(SC_MEMORY_DEVICE, 1000, 512);
    struct sc_allocation *b = sc_space_allocate(SC_MEMORY_DEVICE, 1000, 512);
    assert_non_null(a);
    assert_int_equal(a->begin % 512, 0);
    assert_true(b->begin >= a->begin + 1000);
    assert_ptr_equal(sc_space_find(a->begin + 999), a);
    assert_null(sc_space_find(a->begin + 1000)); /* the rounding is no part of it */
    assert_null(sc_space_find_range(a->begin, 1001));
    assert_ptr_equal(sc_space_find_range(a->begin + 1, 999), a);
    struct sc_range range;
    assert_true(sc_space_lookup(NULL, b->begin + 5, &range));
    assert_int_equal(range.end - range.begin, 1000);
    assert_int_equal(range.kind, SC_RANGE_DEVICE);
    uint64_t begin = a->begin, id = a->id;
    sc_space_release(a);
    assert_null(sc_space_find(begin));
    struct sc_allocation *again = sc_space_allocate(SC_MEMORY_DEVICE, 900, 512);
    assert_int_equal(again->begin, begin); /* the gap is used again, under a new name */
    assert_int_not_equal(again->id, id);
    sc_space_release(again);
    sc_space_release(b);
}

static void huge_memory_is_free_until_touched(void **state)
{
    (void)state;
    struct sc_allocation *a = sc_space_allocate(SC_MEMORY_MANAGED, UINT64_C(64) << 30, 2 << 20);
    if (!a) skip(); /* the system reserves less than that */
    char *data = (char *)a->begin;
    data[UINT64_C(63) << 30] = 1;
    assert_int_equal(data[(UINT64_C(63) << 30) + 1], 0);
    sc_space_release(a);
    a = sc_space_allocate(SC_MEMORY_MANAGED, UINT64_C(64) << 30, 2 << 20);
    assert_int_equal(((char *)a->begin)[UINT64_C(63) << 30], 0); /* it went back to the system */
    sc_space_release(a);
}

/* What mappings were given of the addresses, allocations get later. */
static void addresses_are_lent_to_mappings(void **state)
{
    (void)state;
    const uint64_t mib = UINT64_C(1) << 20;
    struct sc_allocation *a = sc_space_allocate(SC_MEMORY_MANAGED, 8 * mib, 2 * mib);
    assert_non_null(a);
    uint64_t begin = a->begin;
    assert_false(sc_space_lend(begin + 4 * mib, 8 * mib)); /* in use */
    sc_space_release(a);
    assert_true(sc_space_lend(begin + 4 * mib, 4 * mib));
    assert_false(sc_space_lend(begin, 8 * mib));
    assert_false(sc_space_lend(64 * mib, 2 * mib)); /* nobody's */
    struct sc_allocation *mapped = sc_space_map(begin + 4 * mib, 2 * mib);
    assert_non_null(mapped);
    a = sc_space_allocate(SC_MEMORY_MANAGED, 8 * mib, 2 * mib); /* does not fit in front of it */
    assert_int_equal(a->begin, begin + 8 * mib);
    struct sc_allocation *small = sc_space_allocate(SC_MEMORY_MANAGED, 4 * mib, 2 * mib);
    assert_int_equal(small->begin, begin);
    sc_space_release(small);
    sc_space_release(mapped);
    assert_false(sc_space_take_back(begin));
    assert_true(sc_space_take_back(begin + 4 * mib));
    assert_false(sc_space_take_back(begin + 4 * mib));
    small = sc_space_allocate(SC_MEMORY_MANAGED, 8 * mib, 2 * mib);
    assert_int_equal(small->begin, begin);
    memset((void *)small->begin, 1, 8 * mib); /* is memory again */
    sc_space_release(small);
    sc_space_release(a);
}

static void registered_memory_may_not_overlap(void **state)
{
    (void)state;
    static char memory[8192];
    struct sc_allocation *a = sc_space_register((uint64_t)memory + 1000, 1000);
    assert_non_null(a);
    assert_null(sc_space_register((uint64_t)memory, 1001));
    assert_null(sc_space_register((uint64_t)memory + 1999, 10));
    struct sc_allocation *b = sc_space_register((uint64_t)memory + 2000, 10);
    assert_non_null(b);
    memory[1500] = 1;
    sc_space_release(a);
    sc_space_release(b);
    assert_int_equal(memory[1500], 1);
}

static void many_allocations_stay_apart(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    static struct sc_allocation *list[COUNT];
    uint32_t random = 1;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            random = random * 1664525 + 1013904223;
            if (list[i] && random >> 31) {
                sc_space_release(list[i]);
                list[i] = NULL;
            } else if (!list[i]) {
                list[i] = sc_space_allocate(SC_MEMORY_DEVICE, 1 + (random >> 12) % 5000, 512);
                assert_non_null(list[i]);
                memset((void *)list[i]->begin, i & 255, list[i]->bytes);
            }
        }
    }
    for (int i = 0; i < COUNT; i++) {
        if (!list[i]) continue;
        unsigned char *data = (unsigned char *)list[i]->begin;
        assert_int_equal(data[0], i & 255);
        assert_int_equal(data[list[i]->bytes - 1], i & 255);
        sc_space_release(list[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_found_and_forgotten),
        cmocka_unit_test(huge_memory_is_free_until_touched),
        cmocka_unit_test(addresses_are_lent_to_mappings),
        cmocka_unit_test(registered_memory_may_not_overlap),
        cmocka_unit_test(many_allocations_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
