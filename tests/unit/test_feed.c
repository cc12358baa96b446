/* A program that never does the same thing twice must not fill memory with what it did, and one that begins
 * to repeat itself afterwards is predicted like any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core_fixture.h"

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"one", 1, offsets, sizes};

static void launch(uint64_t *address, uint32_t grid)
{
    void *parameters[] = {address};
    core_launch(core_kernel(&kernel, parameters, grid));
}

/* Repeats a few launches until they are recognised. */
static void assert_learns(uint64_t *address)
{
    for (uint32_t i = 0; i < 64; i++) launch(address, 1 + i % 4);
    assert_non_null(sl_core_running()->scanner.usage.cached);
}

static void new_launches_all_the_time(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    uint64_t address;
    assert_int_equal(sl_runtime_alloc(SL_MIB, 1, 0, &address), SL_OK);
    uint32_t most = 0;
    for (uint32_t grid = 10; grid < 300000; grid++) {
        launch(&address, grid);
        if (core->symbols.count > most) most = core->symbols.count;
    }
    assert_in_range(most, 1000, 1 << 18);
    assert_learns(&address);
    assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
}

static void new_sizes_all_the_time(void **state)
{
    (void)state;
    struct sl_core *core = sl_core_running();
    uint64_t kept[100], address;
    for (uint64_t i = 0; i < 100; i++) assert_int_equal(sl_runtime_alloc(4096, 100 + i, 0, &kept[i]), SL_OK);
    for (uint64_t i = 0; i < 300000; i++) {
        assert_int_equal(sl_runtime_alloc(4 * (i + 1), 2, 0, &address), SL_OK);
        assert_int_equal(sl_runtime_free(address, NULL), SL_OK);
    }
    assert_in_range(core->placement.slot_count, 100, 70000);
    /* Those that lived all the time are where they were, by the same names. */
    for (uint64_t i = 0; i < 100; i++) {
        uint32_t slot = sl_place_find(&core->placement, kept[i]);
        assert_int_equal(core->placement.slots[slot].site, 100 + i);
        assert_int_equal(core->placement.slots[slot].address, kept[i]);
        launch(&kept[i], 1);
        assert_int_equal(core->scanner.usage.access_count, 1);
        assert_int_equal(core->scanner.usage.accesses[0].slot, slot);
    }
    assert_learns(&kept[7]);
    for (uint64_t i = 0; i < 100; i++) assert_int_equal(sl_runtime_free(kept[i], NULL), SL_OK);
    assert_int_equal(core->placement.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(new_launches_all_the_time),
                                       cmocka_unit_test(new_sizes_all_the_time)};
    return cmocka_run_group_tests(tests, core_start, core_stop);
}
