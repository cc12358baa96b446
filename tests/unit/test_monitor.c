/* The page shows the core's own counters, what the last misprediction was and what fills the budget. It goes
 * with the process, and a child has no part in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "tools/top/page.h"

#define TAKEN 48 /* allocations of a chunk each; the budget has room for 32 */
#define STEPS 40

static const uint32_t offset = 0, size = 8;
static const struct sl_host_kernel kernel = {"sweep", 1, &offset, &size},
                                   other = {"other", 1, &offset, &size};
static uint64_t memory[TAKEN];
static struct sl_monitor_record record;

static bool look(void)
{
    char path[SL_MONITOR_PATH];
    return sl_monitor_path(SL_MONITOR_FOLDER, getpid(), path) && sl_monitor_read(path, &record) == SL_OK;
}

static void launch(const struct sl_host_kernel *kind, uint64_t *what)
{
    void *parameters[] = {what};
    core_launch(core_kernel(kind, parameters, 8));
}

static void sweep(int steps)
{
    for (int i = 0; i < steps; i++)
        for (int m = 0; m < TAKEN; m++) launch(&kernel, &memory[m]);
}

static void end_unless(bool good, int status)
{
    if (!good) _exit(status);
}

static void the_page_shows_the_counters(void **state)
{
    (void)state;
    if (access(SL_MONITOR_FOLDER, W_OK) != 0) skip();
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    const struct sl_stats *f = &record.figures[0];
    end_unless(look() && record.devices == 1 && f->total.launches == 0, 10);
    end_unless(f->plan_state == SL_PLAN_STATE_NOT_NEEDED && !strcmp(f->policy, "plan"), 11);
    for (int m = 0; m < TAKEN; m++) memory[m] = core_take(2 * SL_MIB);
    sweep(STEPS);
    sl_monitor_update(core);
    end_unless(look(), 12);
    end_unless(f->total.launches == STEPS * TAKEN && f->total.demand_misses == core_misses(), 13);
    end_unless(f->total.bytes_in[0] == core->stats.total.bytes_in[0] && f->total.bytes_in[0] > 0, 14);
    end_unless(f->steps > 2 && f->step.launches == TAKEN && f->step_time_ns > 0, 15);
    end_unless(f->budget_now_bytes == 64 * SL_MIB && f->occupied_bytes <= f->budget_bytes, 16);
    end_unless(f->live_bytes == TAKEN * 2 * SL_MIB && f->need_bytes == f->live_bytes, 17);
    end_unless(
        f->plan_state == SL_PLAN_STATE_FOLLOWED && f->plan_taken_ns > 0 && f->plans == core->stats.plans, 18);
    end_unless(f->fed >= f->predicted && f->predicted > 0, 19);
    core_end_child(true);
}

static void it_names_the_last_misprediction(void **state)
{
    (void)state;
    if (access(SL_MONITOR_FOLDER, W_OK) != 0) skip();
    if (!core_in_child("inline")) return;
    const struct sl_stats *f = &record.figures[0];
    for (int m = 0; m < TAKEN; m++) memory[m] = core_take(2 * SL_MIB);
    sweep(STEPS);
    launch(&other, &memory[5]);
    sl_monitor_update(sl_core_running());
    end_unless(look(), 20);
    end_unless(!strcmp(f->expected, "sweep") && !strcmp(f->came, "other"), 21);
    end_unless(f->mispredicted_ns && f->mispredicted_event == f->fed, 22);
    core_end_child(true);
}

/* Everything was allocated before the last whole step, but one chunk. */
static void allocations_are_scanned_when_it_is_due(void **state)
{
    (void)state;
    if (access(SL_MONITOR_FOLDER, W_OK) != 0) skip();
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    const struct sl_stats *f = &record.figures[0];
    const struct sl_kind_bytes *lasting = &f->kinds[SL_KIND_LASTING],
                               *temporary = &f->kinds[SL_KIND_TEMPORARY];
    for (int m = 0; m < TAKEN; m++) memory[m] = core_take(2 * SL_MIB);
    sweep(STEPS);
    sl_monitor_update(core);
    uint64_t before = core->stats.scanned_ns;
    core->monitor.next_scan_ns = 0;
    uint64_t late = core_take(2 * SL_MIB);
    launch(&kernel, &late);
    sl_monitor_update(core);
    end_unless(look() && core->stats.scanned_ns > before, 31);
    end_unless(lasting->allocated_bytes == TAKEN * 2 * SL_MIB && temporary->allocated_bytes == 2 * SL_MIB,
               32);
    end_unless(temporary->resident_bytes == 2 * SL_MIB && lasting->resident_bytes > 0, 33);
    end_unless(
        lasting->resident_bytes + temporary->resident_bytes + f->unallocated_bytes == f->occupied_bytes, 34);
    uint64_t last = core->stats.scanned_ns;
    core->monitor.next_scan_ns = UINT64_MAX;
    sl_monitor_update(core);
    end_unless(core->stats.scanned_ns == last, 35); /* not before it is due */
    core_end_child(true);
}

static void the_page_goes_with_the_core(void **state)
{
    (void)state;
    if (access(SL_MONITOR_FOLDER, W_OK) != 0) skip();
    if (!core_in_child("inline")) return;
    end_unless(look(), 40);
    sl_monitor_leave(sl_core_running());
    sl_monitor_update(sl_core_running());
    sl_monitor_step(sl_core_running());
    end_unless(!look(), 41); /* as in a child, the descriptor is closed */
    sl_monitor_begin(sl_core_running());
    end_unless(look() && record.figures[0].total.launches == 0, 42);
    core_end_child(true);
}

static void nobody_has_to_show_anything(void **state)
{
    (void)state;
    setenv("SLUICE_TOP", "off", 1);
    if (core_in_child("inline")) {
        end_unless(!look() && !sl_core_running()->monitor.shown, 50);
        core_end_child(true);
    }
    unsetenv("SLUICE_TOP");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_shows_the_counters),
        cmocka_unit_test(it_names_the_last_misprediction),
        cmocka_unit_test(allocations_are_scanned_when_it_is_due),
        cmocka_unit_test(the_page_goes_with_the_core),
        cmocka_unit_test(nobody_has_to_show_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
