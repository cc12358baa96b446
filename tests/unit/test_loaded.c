/* Modules: chunks leave for what is expected of them before they are loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/loaded.h"
#include "core_fixture.h"

#define CHUNK (2 * SL_MIB)

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

static void chunks_leave_before_a_module_comes(void **state)
{
    (void)state;
    struct sl_loading loading;
    sl_runtime_load_begins(&loading, CHUNK);
    assert_false(loading.on);
    assert_int_equal(sl_runtime_load_ended(&loading), 0);
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    for (int c = 0; c < 32; c++) {
        uint64_t address = core_take(CHUNK);
        void *parameters[] = {&address};
        core_launch(core_kernel(&kernel, parameters, 1));
    }
    uint64_t budget = core->budget.bytes, occupied = atomic_load(&core->migrator.occupied_bytes);
    sl_runtime_load_begins(&loading, 8 * CHUNK);
    bool good = loading.on && occupied > budget - 8 * CHUNK &&
                sl_budget_bytes(&core->budget) == budget - 8 * CHUNK &&
                atomic_load(&core->migrator.occupied_bytes) <= budget - 8 * CHUNK;
    uint64_t took = sl_runtime_load_ended(&loading);
    good = good && took == 0 && sl_budget_bytes(&core->budget) == budget;
    sl_runtime_load_begins(&loading, budget); /* more than there is */
    good = good && loading.on && !loading.expected_bytes && sl_budget_bytes(&core->budget) == budget;
    /* Less is free, and part of that is known to be something else. */
    sl_runtime_load_begins(&loading, 0);
    loading.free_bytes += 5 * CHUNK;
    good = good && sl_runtime_load_ended(&loading) == 5 * CHUNK;
    loading.known_bytes -= 2 * CHUNK;
    good = good && sl_runtime_load_ended(&loading) == 3 * CHUNK;
    loading.known_bytes -= 9 * CHUNK;
    good = good && sl_runtime_load_ended(&loading) == 0;
    sl_runtime_capture(1); /* the driver is not asked */
    sl_runtime_load_begins(&loading, CHUNK);
    good = good && !loading.on && sl_budget_bytes(&core->budget) == budget;
    sl_runtime_capture(-1);
    core_end_child(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chunks_leave_before_a_module_comes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
