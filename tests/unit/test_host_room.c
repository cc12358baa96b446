/* What cuMemGetInfo calls free can be had: of host memory, and of the device beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/host_room.h"
#include "core_fixture.h"

#define CHUNK (2 * SL_MIB)

static void free_memory_is_what_host_and_device_have(void **state)
{
    (void)state;
    uint64_t free_bytes = 1, total_bytes = 1;
    assert_false(sl_runtime_memory_info(&free_bytes, &total_bytes));
    assert_true(sl_runtime_take_pinnable(UINT64_MAX));
    setenv("SLUICE_HOST_LIMIT", "80M", 1);
    setenv("SLUICE_VIRTUAL_SIZE", "100M", 1);
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    bool good = sl_runtime_memory_info(&free_bytes, &total_bytes) && total_bytes == 100 * SL_MIB &&
                free_bytes == 100 * SL_MIB;
    core->budget.virtual_size_bytes = SL_GIB;
    good = good && sl_runtime_memory_info(&free_bytes, &total_bytes) && free_bytes == 112 * SL_MIB;
    for (uint64_t c = 0; c < 40; c++) core_take(CHUNK);
    good = good && sl_runtime_memory_info(&free_bytes, &total_bytes) && free_bytes == 32 * SL_MIB;
    atomic_store(&core->budget.charged_bytes, 40 * SL_MIB);
    good = good && sl_runtime_memory_info(&free_bytes, &total_bytes) && free_bytes == 0;
    atomic_store(&core->budget.charged_bytes, 0);
    core->host.of_device = true; /* the device's memory takes host memory, which there is none of */
    good = good && sl_runtime_memory_info(&free_bytes, &total_bytes) && free_bytes == 0;
    core_end_child(good);
}

static void only_memory_of_this_machine_is_watched(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    core_end_child(sl_runtime_take_pinnable(UINT64_MAX) && sl_runtime_take_registrable(1, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_memory_is_what_host_and_device_have),
        cmocka_unit_test(only_memory_of_this_machine_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
