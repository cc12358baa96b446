/* How far accesses in a slab are taken to reach. Breaks if views of a tensor hide the rest of it, or if a
 * tensor's neighbours are taken for parts of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "launch/access.h"

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel plain = {"plain", 1, offsets, sizes}, other = {"other", 1, offsets, sizes};

/* Launches once and returns how far the launch is taken to reach. */
static uint64_t reach(const struct sl_host_kernel *kernel, uint64_t address, uint32_t blocks)
{
    struct sl_core *core = sl_core_running();
    void *parameters[] = {&address};
    struct sl_launch launch = core_kernel(kernel, parameters, blocks);
    core_launch(launch);
    core_scan(&launch);
    sl_extents_learn(&core->scanner);
    sl_symbol symbol = core_scan(&launch);
    const struct sl_access *access = &core->symbols.accesses[core->symbols.records[symbol].first_access];
    return sl_access_end(&core->placement, access) - access->offset;
}

static void a_tensor_ends_where_the_next_begins(void **state)
{
    (void)state;
    uint64_t slab = core_take(16 * SL_MIB);
    for (int i = 0; i < 4; i++) reach(&plain, slab + i * 4 * SL_MIB, 1);
    for (int i = 0; i < 4; i++) assert_int_equal(reach(&plain, slab + i * 4 * SL_MIB, 1), 4 * SL_MIB);
}

static void views_do_not_cut_a_tensor(void **state)
{
    (void)state;
    uint64_t tensor = core_take(6 * SL_MIB);
    reach(&other, tensor + 1024, 1);
    reach(&other, tensor + 2048, 1);
    assert_int_equal(reach(&plain, tensor, 7), 6 * SL_MIB);
    assert_int_equal(reach(&other, tensor + 1024, 1), 6 * SL_MIB - 1024);
}

/* Scratch memory that is divided otherwise at another time */
static void a_kernel_reaches_as_far_as_usual(void **state)
{
    (void)state;
    static const struct sl_host_kernel even = {"even", 1, offsets, sizes};
    uint64_t slab = core_take(32 * SL_MIB), scratch = slab + 16 * SL_MIB;
    for (int i = 0; i < 4; i++) reach(&other, slab + i * 4 * SL_MIB, 3);
    reach(&other, scratch, 3);
    for (int i = 0; i < 4; i++) assert_int_equal(reach(&even, slab + i * 4 * SL_MIB, 16), 4 * SL_MIB);
    reach(&other, scratch + 3 * SL_MIB, 3);
    reach(&other, scratch + 8 * SL_MIB, 3);
    assert_int_equal(reach(&even, scratch, 32), 8 * SL_MIB);
}

static void a_small_tensor_before_a_large_one_stays_small(void **state)
{
    (void)state;
    static const struct sl_host_kernel norm = {"norm", 1, offsets, sizes};
    uint64_t slab = core_take(24 * SL_MIB);
    for (int i = 0; i < 3; i++) {
        reach(&other, slab + i * 8 * SL_MIB, 5);
        reach(&other, slab + i * 8 * SL_MIB + 4096, 5);
    }
    for (int i = 0; i < 3; i++) reach(&norm, slab + i * 8 * SL_MIB, 1);
    for (int i = 0; i < 3; i++) assert_int_equal(reach(&norm, slab + i * 8 * SL_MIB, 1), 4096);
}

/* Of many launches with only a few lengths, each is looked at a few times, not once for each other one. */
static void many_equal_tensors_are_judged_quickly(void **state)
{
    (void)state;
    static const struct sl_host_kernel sweep = {"sweep", 1, offsets, sizes};
    uint64_t slab = core_take(4 * SL_MIB);
    for (uint32_t launches = 1; launches <= 250000; launches++) {
        void *parameters[] = {&slab};
        struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                                   .function = (uintptr_t)&sweep,
                                   .grid = {1, 1, 1},
                                   .block = {launches % 2 ? 1 : 1024, 1, 1},
                                   .shared_bytes = launches,
                                   .parameters = parameters};
        sl_runtime_launch_begin(&launch);
        sl_runtime_launch_end(&launch, true);
    }
    assert_int_equal(reach(&sweep, slab, 1), 4 * SL_MIB);
}

static void new_launches_between_plans_cost_what_they_are(void **state)
{
    (void)state;
    enum { TENSORS = 64 };
    static const uint32_t four_offsets[] = {0, 8, 16, 24}, four_sizes[] = {8, 8, 8, 8};
    static const struct sl_host_kernel four = {"four", 4, four_offsets, four_sizes};
    uint64_t tensors[TENSORS];
    for (int i = 0; i < TENSORS; i++) tensors[i] = core_take(2 * SL_MIB);
    for (uint32_t step = 1; step <= 4000; step++)
        for (int i = 0; i < 50; i++) {
            uint64_t *first = &tensors[i % 40];
            void *parameters[] = {first, first + 1, first + 2, first + 3};
            struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                                       .function = (uintptr_t)&four,
                                       .grid = {1, 1, 1},
                                       .block = {32, 1, 1},
                                       .shared_bytes = i < 40 ? 0 : step,
                                       .parameters = parameters};
            sl_runtime_launch_begin(&launch);
            sl_runtime_launch_end(&launch, true);
        }
    assert_in_range(sl_core_running()->stats.plans, 1000, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_ends_where_the_next_begins),
        cmocka_unit_test(views_do_not_cut_a_tensor),
        cmocka_unit_test(a_kernel_reaches_as_far_as_usual),
        cmocka_unit_test(a_small_tensor_before_a_large_one_stays_small),
        cmocka_unit_test(new_launches_between_plans_cost_what_they_are),
        cmocka_unit_test(many_equal_tensors_are_judged_quickly),
    };
    setenv("SLUICE_DAEMON", "inline", 1); /* launches here are faster than plans are made beside them */
    setenv("SLUICE_PLAN_ATTEMPTS", "0", 1);
    return cmocka_run_group_tests(tests, core_start, core_stop);
}
