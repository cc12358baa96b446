/* A plan that takes over some launches after those that it was made for: nothing is missed from then on, and
 * the budget is kept. Each test is a process of its own, since the core runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/plan_switch.h"
#include "core_fixture.h"

#define BLOCKS 48 /* of a chunk each: half as much again as the budget */
#define BUDGET (64 * SL_MIB)
#define NEVER (UINT64_MAX / 2)

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernel = {"kernel", 2, offsets, sizes};
static uint64_t blocks[BLOCKS];
static int at;

static void run(int launches)
{
    for (; launches > 0; launches--, at++) {
        void *parameters[] = {&blocks[at % BLOCKS], &blocks[at % BLOCKS * 5 % BLOCKS]};
        core_launch(core_kernel(&kernel, parameters, 1));
    }
}

/* Runs so many launches on demand after a plan was asked for, then by the plan; exits with what went wrong.
 */
static void switch_after(int launches, bool follows)
{
    setenv("SLUICE_DAEMON", "inline", 1);
    if (core_start(NULL)) _exit(1);
    for (int b = 0; b < BLOCKS; b++) blocks[b] = core_take(2 * SL_MIB);
    struct sl_core *core = sl_core_running();
    core->planning.begun_at = NEVER; /* nobody else plans */
    run(10 * BLOCKS + 7);
    struct sl_forecast forecast = {.from = core->planning.forecast.from};
    enum sl_status status = sl_forecast_begin(&forecast);
    if (status || !sl_forecast_step(&forecast, SIZE_MAX, &status) || status) _exit(4);
    struct sl_plan_job job = {.input = sl_forecast_input(&forecast),
                              .serve = forecast.served_launches,
                              .at_end = forecast.at_end.content};
    sl_plan_job_make(&job);
    if (job.status) _exit(5);
    run(launches);
    sl_lock(&core->migrator.out.lock);
    sl_lock(&core->migrator.in.lock);
    sl_plan_switch(&core->planning, &job, follows);
    sl_unlock(&core->migrator.in.lock);
    sl_unlock(&core->migrator.out.lock);
    uint64_t misses = core->stats.total.demand_misses;
    run((int)job.serve - launches - 1);
    const struct sl_host_books *books = sl_backend_host_books(&core->backend);
    if (core->stats.total.demand_misses != misses || core->stats.total.mispredictions) _exit(6);
    if (books->wrong || books->peak_resident_bytes > BUDGET) _exit(7);
    sl_plan_job_free(&job);
    sl_forecast_close(&forecast);
    core_stop(NULL);
    _exit(0);
}

static void check(int launches, bool follows)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) switch_after(launches, follows);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_plan_may_begin_at_once(void **state)
{
    (void)state;
    check(0, false);
    check(0, true);
}

static void a_late_plan_puts_right_what_happened_meanwhile(void **state)
{
    (void)state;
    for (int launches = 1; launches < 120; launches += 1 + launches / 4) check(launches, launches % 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_may_begin_at_once),
        cmocka_unit_test(a_late_plan_puts_right_what_happened_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
