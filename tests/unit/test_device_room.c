/* Memory that is the driver's because host memory has no room for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/device_room.h"
#include "core_fixture.h"

#define CHUNK (2 * SL_MIB)
enum { BUDGET_CHUNKS = 32, HOST_CHUNKS = 40 };

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};

/* What the host may hold. */
static void fill(void)
{
    for (int c = 0; c < HOST_CHUNKS; c++) {
        uint64_t address = core_take(CHUNK);
        void *parameters[] = {&address};
        core_launch(core_kernel(&kernel, parameters, 1));
    }
}

static enum sl_status take(uint64_t bytes)
{
    uint64_t address;
    return sl_runtime_alloc(bytes, 1, 0, &address);
}

static void start(const char *name, const char *value)
{
    setenv("SLUICE_HOST_LIMIT", "80M", 1);
    if (name) setenv(name, value, 1);
}

/* Else the device holds more than the budget, or the program is refused what there is. */
static void chunks_leave_for_it_until_half_of_the_budget_is_left(void **state)
{
    (void)state;
    start(NULL, NULL);
    if (!core_in_child("inline")) return;
    fill();
    struct sl_core *core = sl_core_running();
    bool good = true;
    for (int c = 0; c < BUDGET_CHUNKS / 2; c++) {
        good = good && take(CHUNK) == SL_ERR_UNSUPPORTED;
        uint64_t left = (uint64_t)(BUDGET_CHUNKS - c - 1) * CHUNK;
        good = good && sl_budget_bytes(&core->budget) == left &&
               atomic_load(&core->migrator.occupied_bytes) <= left;
        sl_runtime_charge(CHUNK);                              /* as the shim does once the driver gave it */
        good = good && sl_budget_bytes(&core->budget) == left; /* it counts once */
        sl_runtime_driver_gave();
        good = good && sl_budget_bytes(&core->budget) == left;
    }
    good = good && take(CHUNK) == SL_ERR_NO_MEMORY && take(UINT64_MAX) == SL_ERR_NO_MEMORY;
    core_end_child(good);
}

/* Else it is lost to the budget for ever. */
static void what_the_driver_refused_is_not_charged(void **state)
{
    (void)state;
    start(NULL, NULL);
    if (!core_in_child("thread")) return;
    fill();
    struct sl_core *core = sl_core_running();
    bool good = take(CHUNK) == SL_ERR_UNSUPPORTED && sl_budget_bytes(&core->budget) < core->budget.bytes;
    sl_runtime_driver_gave();
    sl_runtime_driver_gave();
    core_end_child(good && sl_budget_bytes(&core->budget) == core->budget.bytes);
}

/* Else a program that was told how large the device is gets more. */
static void the_virtual_size_bounds_it(void **state)
{
    (void)state;
    start("SLUICE_VIRTUAL_SIZE", "80M");
    if (!core_in_child("inline")) return;
    fill();
    core_end_child(take(CHUNK) == SL_ERR_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_leave_for_it_until_half_of_the_budget_is_left),
        cmocka_unit_test(what_the_driver_refused_is_not_charged),
        cmocka_unit_test(the_virtual_size_bounds_it),
    };
    return cmocka_run_group_tests_name("device room", tests, NULL, NULL);
}
