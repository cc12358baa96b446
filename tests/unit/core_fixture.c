#include "core_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

bool core_say_nothing;

int core_start(void **state)
{
    (void)state;
    static struct sl_backend backend;
    if (!core_say_nothing) {
        setenv("SLUICE_DEVICE_BUDGET", "64M", 1);
        setenv("SLUICE_CHUNK", "2M", 1);
    }
    sl_runtime_load();
    return sl_backend_host_new(SL_GIB, &backend) || sl_runtime_start(&backend) ? -1 : 0;
}

int core_stop(void **state)
{
    (void)state;
    sl_runtime_stop(false);
    return 0;
}

bool core_in_child(const char *daemon)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* instead of going on with the parent's tests */
        setenv("SLUICE_DAEMON", daemon, 1);
        if (core_start(NULL)) _exit(1);
        return true;
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return false;
}

uint64_t core_misses(void)
{
    return atomic_load(&sl_core_running()->stats.total.demand_misses);
}

void core_end_child(bool good)
{
    const struct sl_core *core = sl_core_running();
    const struct sl_host_books *books = sl_backend_host_books(&core->backend);
    const struct sl_stats *stats = &core->stats;
    struct sl_predictor_counts foreseen = sl_history_counts(&core->history);
    good = good && !books->wrong && books->peak_resident_bytes <= core->budget.bytes &&
           stats->peak_occupied_bytes <= core->budget.bytes;
    if (!good)
        fprintf(stderr,
                "plans %llu, late %llu, mispredictions %llu, misses %llu, foreseen %llu of %llu, peak %llu\n",
                (unsigned long long)stats->plans, (unsigned long long)stats->plans_late,
                (unsigned long long)stats->total.mispredictions, (unsigned long long)core_misses(),
                (unsigned long long)foreseen.predicted, (unsigned long long)foreseen.fed,
                (unsigned long long)books->peak_resident_bytes);
    core_stop(NULL);
    _exit(good ? 0 : 3);
}

uint64_t core_take_at(uint64_t site, uint64_t bytes)
{
    uint64_t address;
    assert_int_equal(sl_runtime_alloc(bytes, site, 0, NULL, &address), SL_OK);
    return address;
}

uint64_t core_take(uint64_t bytes)
{
    static uint64_t site = 1000;
    return core_take_at(site++, bytes);
}

struct sl_launch core_kernel(const struct sl_host_kernel *kernel, void **parameters, uint32_t blocks)
{
    return (struct sl_launch){.kind = SL_LAUNCH_KERNEL,
                              .function = (uintptr_t)kernel,
                              .grid = {blocks, 1, 1},
                              .block = {32, 1, 1},
                              .parameters = parameters};
}

void core_launch(struct sl_launch launch)
{
    sl_runtime_launch_begin(&launch);
    sl_runtime_launch_end(&launch, true);
}

sl_symbol core_scan(const struct sl_launch *launch)
{
    struct sl_core *core = sl_core_running();
    uint32_t stream = sl_stream_number(&core->streams, launch->stream);
    return sl_access_scan(&core->scanner, launch, sl_history_expected(&core->history, stream), stream)
        ->symbol;
}

void core_run_in_child(void (*test)(void))
{
    int status = 0;
    pid_t child = fork();
    if (!child) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* instead of going on with the parent's tests */
        test();
        sl_runtime_stop(false);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}
