/* Plans that are made beside the launches: they come in time, follow each other, and what nobody foresaw does
 * no harm. Each test is a process of its own, since the core runs once. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/check.h"
#include "core/planning.h"
#include "core/report.h"
#include "core_fixture.h"

#define BLOCKS 48 /* of a chunk each: half as much again as the budget */
#define PERIOD 96

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernel = {"kernel", 2, offsets, sizes};
static uint64_t blocks[BLOCKS];
static bool patient; /* launches come no faster than plans are made */

static void launch(int a, int b)
{
    const struct sl_planner *planner = sl_core_running()->planning.planner;
    void *parameters[] = {&blocks[a], &blocks[b]};
    core_launch(core_kernel(&kernel, parameters, 1));
    while (patient && sl_planner_is_busy(planner)) sched_yield();
}

static void launch_period(void)
{
    for (int i = 0; i < PERIOD; i++) launch(i % BLOCKS, (i * 5 + 1) % BLOCKS);
}

/* What dies within each period is new in the next. */
static void launch_mortals(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 3 == 0) blocks[i] = core_take_at((uint64_t)i, 2 * SL_MIB);
        launch(i, i / 3 * 3);
        if (i % 3 != 2) continue;
        if (sl_runtime_free(blocks[i - 2], NULL)) _exit(2);
    }
}

static bool in_child_with(const char *daemon)
{
    if (!core_in_child(daemon)) return false;
    for (int b = 0; b < BLOCKS; b++) blocks[b] = core_take(2 * SL_MIB);
    return true;
}

static bool in_child(void)
{
    return in_child_with("thread");
}

static void plans_follow_each_other_without_a_miss(void **state)
{
    (void)state;
    if (!in_child()) return;
    patient = true;
    for (int i = 0; i < 20; i++) launch_period();
    const struct sl_stats *stats = &sl_core_running()->stats;
    uint64_t before = core_misses(), plans = stats->plans;
    for (int i = 0; i < 60; i++) launch_period();
    core_end_child(plans > 2 && stats->plans > plans + 10 && core_misses() == before &&
                   stats->plans_late == 0 && stats->total.mispredictions <= 1);
}

/* Where sizes vary: the next plan is ready and waits for the end of the present one, and then an allocation
 * comes to lie elsewhere. Neither knows. */
static void a_plan_that_waits_is_made_anew_for_what_strayed(void **state)
{
    enum { ENOUGH = 40 };
    (void)state;
    if (!in_child()) return;
    struct sl_core *core = sl_core_running();
    const struct sl_planning *planning = &core->planning;
    patient = true;
    int i = 0;
    for (; i < 20 * PERIOD || planning->stage != SL_PLANNING_PLAN || sl_planner_is_busy(planning->planner) ||
           core->history.ticks.now + ENOUGH >= core->schedule.end_tick;
         i++)
        launch(i % BLOCKS, (i % PERIOD * 5 + 1) % BLOCKS);
    sl_tick end = core->schedule.end_tick, begun_at = planning->begun_at, now = core->history.ticks.now;
    core->history.vary = true;
    core->history.strays++;
    for (int more = 0; more < ENOUGH; more++, i++) launch(i % BLOCKS, (i % PERIOD * 5 + 1) % BLOCKS);
    core_end_child(begun_at <= now && planning->begun_at > now && planning->begun_at < end);
}

/* As a replay has the ranks of a job plan out of step. */
static void a_first_plan_is_late_as_wanted(void **state)
{
    (void)state;
    if (!in_child()) return;
    struct sl_core *core = sl_core_running();
    core->planning.first_late = 0.5;
    patient = true;
    uint64_t could = 0;
    for (int i = 0; i < 20 * PERIOD && !core->planning.begun_at; i++) {
        launch(i % BLOCKS, (i % PERIOD * 5 + 1) % BLOCKS);
        if (!could && core->planning.first_from) could = core->history.fed;
    }
    uint64_t late = core->history.fed - could,
             half = sl_forecast_served_symbols(&core->planning.forecast) / 2;
    bool good = could && core->planning.begun_at && late + 1 >= half && late <= half + 1;
    for (int i = 0; i < 20; i++) launch_period();
    core_end_child(good && core->stats.plans > 2 && core->stats.plans_late == 0);
}

static void what_dies_is_foreseen(void **state)
{
    (void)state;
    if (!in_child()) return;
    patient = true;
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 3 == 0 && sl_runtime_free(blocks[i], NULL)) _exit(2);
    }
    for (int i = 0; i < 30; i++) launch_mortals();
    const struct sl_stats *stats = &sl_core_running()->stats;
    uint64_t before = core_misses(), plans = stats->plans;
    for (int i = 0; i < 60; i++) launch_mortals();
    core_end_child(plans > 2 && stats->plans > plans + 10 && core_misses() == before &&
                   stats->plans_late == 0);
}

static void launches_that_outrun_plans_go_on(void **state)
{
    (void)state;
    if (!in_child()) return;
    for (int i = 0; i < 1000; i++) launch_period();
    core_end_child(true);
}

/* At every point of a plan's making and carrying out. */
static void a_surprise_ends_what_was_planned(void **state)
{
    (void)state;
    if (!in_child()) return;
    patient = true;
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 3 * PERIOD + 7 * round; i++)
            launch(i % PERIOD % BLOCKS, (i % PERIOD * 5 + 1) % BLOCKS);
        launch(round % BLOCKS, round % BLOCKS);
        patient = round % 3;
    }
    core_end_child(sl_core_running()->stats.plans > 30);
}

/* The other way, when the first `common` launches of a period have run. */
static void turn_after(int common)
{
    for (int i = 0; i < common; i++) launch(i % BLOCKS, (i * 5 + 1) % BLOCKS);
    for (int i = 0; i < PERIOD / 2; i++) launch(BLOCKS - 1 - i, (i + common) % BLOCKS);
}

/* What came instead of the usual once before, in a place that is known well, is planned as soon as it begins,
 * however new the last plan is. */
static void a_known_turn_is_planned_at_once(void **state)
{
    (void)state;
    if (!in_child_with("inline")) return;
    int mispredictions = 0;
    for (int common = 2; common < PERIOD; common += 6) {
        for (int i = 0; i < 6; i++) launch_period();
        turn_after(common);
        for (int i = 0; i < 2 + common / 6; i++) launch_period();
        for (int i = 0; i < common; i++) launch(i % BLOCKS, (i * 5 + 1) % BLOCKS);
        const struct sl_stats *stats = &sl_core_running()->stats;
        uint64_t plans = stats->plans, before = stats->total.mispredictions;
        launch(BLOCKS - 1, common % BLOCKS);
        mispredictions += stats->total.mispredictions > before;
        if (stats->total.mispredictions > before && stats->plans == plans) core_end_child(false);
    }
    core_end_child(mispredictions > 8);
}

static char said[4096];

static void say(const char *line)
{
    strncat(said, line, sizeof(said) - strlen(said) - 1);
}

/* The program goes on, and what it lacks comes on demand. */
static void nothing_is_planned_once_a_check_failed(void **state)
{
    static const char *const daemons[] = {"thread", "inline"};
    (void)state;
    for (int d = 0; d < 2; d++) {
        if (!in_child_with(daemons[d])) continue;
        patient = d == 0;
        for (int i = 0; i < 20; i++) launch_period();
        struct sl_core *core = sl_core_running();
        bool cancelled = core->stats.plans > 2 && core->schedule.active;
        atomic_fetch_add(&sl_check_failures, 1);
        launch(0, 1);
        cancelled &= !core->schedule.active;
        uint64_t plans = core->stats.plans, misses = core_misses();
        for (int i = 0; i < 20; i++) launch_period();
        sl_monitor_observe(core);
        sl_stats_say(&core->stats, say);
        core_end_child(cancelled && core->stats.plans == plans && core_misses() > misses &&
                       core->stats.checks_failed == 1 && strstr(said, "checks: 1 failed"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_follow_each_other_without_a_miss),
        cmocka_unit_test(a_plan_that_waits_is_made_anew_for_what_strayed),
        cmocka_unit_test(a_first_plan_is_late_as_wanted),
        cmocka_unit_test(what_dies_is_foreseen),
        cmocka_unit_test(launches_that_outrun_plans_go_on),
        cmocka_unit_test(a_surprise_ends_what_was_planned),
        cmocka_unit_test(a_known_turn_is_planned_at_once),
        cmocka_unit_test(nothing_is_planned_once_a_check_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
