/* What `sluice top` costs a launch of a program with 10,000 allocations: storing the figures, and visiting
 * the allocations if a reader asks. All of it is done by launches, under the order lock, once in 64 symbols;
 * the longest time is that for which another thread's launch may wait. Processor time of the thread, because
 * others may take the processor away from a launch. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/core.h"
#include "tests/host/backend_host.h"

#define ALLOCATIONS 10000
#define LAUNCHES (64 * ALLOCATIONS)
#define QUESTIONS 200
#define MOST_CALLS 100 /* for one */

static const uint32_t offset = 0, size = 8;
static const struct sl_host_kernel kernel = {"sweep", 1, &offset, &size};
static uint64_t addresses[ALLOCATIONS], launch_ns[LAUNCHES];

static uint64_t now_ns(void)
{
    return sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void launch(uint64_t *what)
{
    void *parameters[] = {what};
    struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                               .function = (uintptr_t)&kernel,
                               .grid = {1, 1, 1},
                               .block = {128, 1, 1},
                               .parameters = parameters};
    sl_runtime_launch_begin(&launch);
    sl_runtime_launch_end(&launch, true);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void measure_update(struct sl_core *core)
{
    uint64_t start = now_ns();
    for (int i = 0; i < QUESTIONS; i++) sl_monitor_update(core);
    printf("  figures stored without a scan       %6.2f us\n", (double)(now_ns() - start) / QUESTIONS / 1e3);
}

static void measure_visit(struct sl_core *core)
{
    static uint64_t call_ns[QUESTIONS * MOST_CALLS];
    uint64_t all_ns = 0;
    size_t calls = 0;
    for (int i = 0; i < QUESTIONS; i++) {
        core->monitor.next_scan_ns = 0;
        do {
            uint64_t start = now_ns();
            sl_monitor_update(core);
            uint64_t ns = now_ns() - start;
            all_ns += ns;
            call_ns[calls++] = ns;
        } while (core->monitor.scan.goes_on && calls < QUESTIONS * MOST_CALLS);
    }
    qsort(call_ns, calls, sizeof *call_ns, by_size);
    printf("  a scan                              %6.2f us in %.1f calls; a call %.2f us, %.2f us in 99 %%\n",
           (double)all_ns / QUESTIONS / 1e3, (double)calls / QUESTIONS, (double)call_ns[calls / 2] / 1e3,
           (double)call_ns[calls - calls / 100 - 1] / 1e3);
}

static void measure_launches(struct sl_core *core, const char *what, bool scans)
{
    uint64_t all_ns = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        if (scans) core->monitor.next_scan_ns = 0;
        uint64_t start = now_ns();
        launch(&addresses[i % ALLOCATIONS]);
        launch_ns[i] = now_ns() - start;
        all_ns += launch_ns[i];
    }
    qsort(launch_ns, LAUNCHES, sizeof *launch_ns, by_size);
    printf("  launches, %-25s %6.2f us the mean, %.2f us in 99.9 %%, %.2f us the longest but 10\n", what,
           (double)all_ns / LAUNCHES / 1e3, (double)launch_ns[LAUNCHES - LAUNCHES / 1000] / 1e3,
           (double)launch_ns[LAUNCHES - 11] / 1e3);
}

static void measure(const char *name, uint64_t bytes)
{
    struct sl_backend backend;
    sl_runtime_load();
    if (sl_backend_host_new(64 * SL_GIB, &backend) || sl_runtime_start(&backend)) _exit(1);
    struct sl_core *core = sl_core_running();
    for (int i = 0; i < ALLOCATIONS; i++)
        if (sl_runtime_alloc(bytes, (uint64_t)i, 0, NULL, &addresses[i])) _exit(1);
    if (!core->monitor.shown) _exit(77); /* no shared memory */
    for (int i = 0; i < 3 * ALLOCATIONS; i++) launch(&addresses[i % ALLOCATIONS]);
    printf("%d allocations %s\n", ALLOCATIONS, name);
    measure_update(core);
    measure_visit(core);
    measure_launches(core, "a scan a second", false);
    measure_launches(core, "a scan at every update", true);
    fflush(stdout);
    sl_runtime_stop(false);
    _exit(0);
}

int main(void)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } rows[] = {{"of a chunk each", 2 * SL_MIB}, {"packed in chunks", 16 * SL_KIB}};
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_DEVICE_BUDGET", "60G", 1);
    setenv("SLUICE_HOST_LIMIT", "64G", 1);
    setenv("SLUICE_DAEMON", "inline", 1);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        int status;
        pid_t child = fork();
        if (child == 0) measure(rows[r].name, rows[r].bytes);
        waitpid(child, &status, 0);
        if (status) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    return 0;
}
