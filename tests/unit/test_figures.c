/* What a program learns of its own run: each figure is the core's, and there are none without a core that
 * runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/figures.h"
#include "core_fixture.h"

#define TAKEN 48 /* allocations of a chunk each; the budget has room for 32 */
#define STEPS 40

static const uint32_t offset = 0, size = 8;
static const struct sl_host_kernel kernel = {"sweep", 1, &offset, &size};

static void end_unless(bool good, int status)
{
    if (!good) _exit(status);
}

static bool are_the_counters(const struct sluice_figures *now, const struct sl_counts *total)
{
    return now->launches == total->launches && now->demand_misses == total->demand_misses &&
           now->late_prefetches == total->late_prefetches && now->remote_bytes == total->remote_bytes &&
           now->bytes_in_plan == total->bytes_in[SL_CAUSE_PLAN] &&
           now->bytes_in_demand == total->bytes_in[SL_CAUSE_DEMAND] &&
           now->bytes_in_late == total->bytes_in[SL_CAUSE_LATE] &&
           now->bytes_out_plan == total->bytes_out[SL_CAUSE_PLAN] &&
           now->bytes_out_demand == total->bytes_out[SL_CAUSE_DEMAND] &&
           now->bytes_out_late == total->bytes_out[SL_CAUSE_LATE] && now->stalls == total->stalls &&
           now->stall_ns == total->stall_ns && now->mispredictions == total->mispredictions;
}

static void they_are_the_core_s(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    const struct sl_core *core = sl_core_running();
    struct sluice_figures now = {.launches = 7};
    static uint64_t memory[TAKEN];
    end_unless(!sl_runtime_figures(1, &now) && !sl_runtime_figures(UINT32_MAX, &now) && now.launches == 7,
               10);
    for (int m = 0; m < TAKEN; m++) memory[m] = core_take(2 * SL_MIB);
    for (int i = 0; i < STEPS * TAKEN; i++) {
        void *parameters[] = {&memory[i % TAKEN]};
        core_launch(core_kernel(&kernel, parameters, 8));
    }
    end_unless(sl_runtime_figures(0, &now), 11);
    end_unless(now.launches == STEPS * TAKEN && now.demand_misses == core_misses(), 12);
    end_unless(are_the_counters(&now, &core->stats.total), 13);
    end_unless(now.bytes_in_plan > 0 && now.bytes_in_demand > 0 && now.bytes_out_plan > 0, 14);
    end_unless(now.steps > 2 && now.step_ns > 0 && now.step_ns == core->stats.step_time_ns, 15);
    end_unless(now.budget_bytes == 64 * SL_MIB && now.occupied_bytes > 0, 16);
    end_unless(now.peak_occupied_bytes >= now.occupied_bytes && now.peak_occupied_bytes <= now.budget_bytes,
               17);
    end_unless(now.live_bytes == TAKEN * 2 * SL_MIB && now.chunk_bytes == 2 * SL_MIB, 18);
    end_unless(now.events == core->stats.fed && now.events >= now.predicted && now.predicted > 0, 19);
    end_unless(now.plans == core->stats.plans && now.plans > 0 && now.host_bytes >= now.live_bytes, 20);
    end_unless(sl_runtime_free(memory[0], NULL) == SL_OK, 24);
    end_unless(sl_runtime_figures(0, &now) && now.live_bytes == (TAKEN - 1) * 2 * SL_MIB, 21);
    end_unless(now.need_bytes == TAKEN * 2 * SL_MIB, 22);
    core_end_child(true);
}

static void none_runs_any_more(void **state)
{
    (void)state;
    struct sluice_figures now = {.launches = 7};
    if (!core_in_child("inline")) return;
    end_unless(sl_runtime_figures(0, &now) && !now.launches, 30);
    now.launches = 7;
    sl_runtime_stop(false);
    end_unless(!sl_runtime_figures(0, &now) && now.launches == 7, 31);
    _exit(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_are_the_core_s),
                                       cmocka_unit_test(none_runs_any_more)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
