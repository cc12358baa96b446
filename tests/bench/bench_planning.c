/* What planning costs a program with 10,000 chunks and 1,000 launches a step, whose step takes as long as its
 * data need at 24 GB/s: how long planning holds up a launch, and what share of a processor the threads of
 * sluice take. The host backend stands for the driver, with invented times: moving itself costs little here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/core.h"
#include "core/runtime.h"
#include "tests/host/backend_host.h"

#define LAYERS 333
#define CHUNKS_EACH 10 /* of a layer's parameters, activations and optimizer state */
#define CHUNKS (3 * LAYERS * CHUNKS_EACH)
#define LAUNCHES (3 * LAYERS)
#define CHUNK_BYTES (2 * SL_MIB)
#define STEP_NS (CHUNKS * CHUNK_BYTES / 24)
#define FIRST_STEPS 22 /* that learn */
#define LAST_STEPS 10

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernels[] = {
    {"forward", 2, offsets, sizes}, {"backward", 2, offsets, sizes}, {"update", 2, offsets, sizes}};
static uint64_t parameters[LAYERS], activations[LAYERS], states[LAYERS];

static uint64_t longest_ns;

/* A chunk goes over the link at 24 GB/s, and a launch takes as long. */
static uint64_t elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    (void)self;
    (void)from;
    (void)to;
    return CHUNK_BYTES / 24;
}

static void launch(int kernel, const uint64_t *first, const uint64_t *second)
{
    void *given[] = {(void *)(uintptr_t)first, (void *)(uintptr_t)second};
    struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                               .function = (uint64_t)&kernels[kernel],
                               .grid = {1, 1, 1},
                               .block = {128, 1, 1},
                               .parameters = given};
    uint64_t start = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sl_runtime_launch_begin(&launch);
    sl_runtime_launch_end(&launch, true);
    uint64_t ns = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    if (ns > longest_ns) longest_ns = ns;
}

static void pace(uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void step(void)
{
    uint64_t start = sl_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < LAUNCHES; i++) {
        int layer = i < LAYERS ? i : i < 2 * LAYERS ? 2 * LAYERS - 1 - i : i - 2 * LAYERS;
        launch(i / LAYERS, &parameters[layer], i < 2 * LAYERS ? &activations[layer] : &states[layer]);
        pace(start + STEP_NS / LAUNCHES * (uint64_t)(i + 1));
    }
}

static uint64_t cpu_ns(int who)
{
    struct rusage used;
    getrusage(who, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

/* Longest times on a processor: others may take it away from a launch. */
static void measure_steps(const char *daemon, const char *what, int steps)
{
    struct sl_stats *stats = &sl_core_running()->stats;
    uint64_t plans = stats->plans, late = stats->plans_late, misses = stats->total.demand_misses,
             launches_ns = cpu_ns(RUSAGE_THREAD), all_ns = cpu_ns(RUSAGE_SELF);
    longest_ns = 0;
    for (int s = 0; s < steps; s++) step();
    double percent = 100 / (steps * (double)STEP_NS);
    launches_ns = cpu_ns(RUSAGE_THREAD) - launches_ns;
    all_ns = cpu_ns(RUSAGE_SELF) - all_ns;
    printf("%-7s %-9s longest launch %7.3f ms; of a core: sluice's threads %5.2f %%, launches %5.2f %%; %llu "
           "plans, %llu late, %llu misses\n",
           daemon, what, (double)longest_ns * 1e-6,
           all_ns > launches_ns ? (double)(all_ns - launches_ns) * percent : 0, (double)launches_ns * percent,
           (unsigned long long)(stats->plans - plans), (unsigned long long)(stats->plans_late - late),
           (unsigned long long)(stats->total.demand_misses - misses));
    fflush(stdout);
}

static void measure(const char *daemon)
{
    struct sl_backend backend;
    setenv("SLUICE_DAEMON", daemon, 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_DEVICE_BUDGET", "10G", 1);
    setenv("SLUICE_HOST_LIMIT", "64G", 1);
    sl_runtime_load();
    if (sl_backend_host_new(16 * SL_GIB, &backend)) _exit(1);
    backend.event_elapsed_ns = elapsed_ns;
    if (sl_runtime_start(&backend)) _exit(1);
    for (int l = 0; l < LAYERS; l++)
        if (sl_runtime_alloc(CHUNKS_EACH * CHUNK_BYTES, 1, 0, NULL, &parameters[l]) ||
            sl_runtime_alloc(CHUNKS_EACH * CHUNK_BYTES, 2, 0, NULL, &activations[l]) ||
            sl_runtime_alloc(CHUNKS_EACH * CHUNK_BYTES, 3, 0, NULL, &states[l]))
            _exit(1);
    measure_steps(daemon, "learning", FIRST_STEPS);
    measure_steps(daemon, "steady", LAST_STEPS);
    sl_runtime_stop(false);
    _exit(0);
}

int main(void)
{
    static const char *const daemons[] = {"thread", "inline"};
    printf("%d chunks, %d launches a step of %.2f s\n", CHUNKS, LAUNCHES, (double)STEP_NS * 1e-9);
    fflush(stdout);
    for (int d = 0; d < 2; d++) {
        int status;
        pid_t child = fork();
        if (child == 0) measure(daemons[d]);
        waitpid(child, &status, 0);
        if (status) return 1;
    }
    return 0;
}
