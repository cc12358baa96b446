/* What one intercepted kernel launch costs the program when everything it uses is resident: eight pointers,
 * the prediction included, without and with a trace, where sluice only records, and in an order that nobody
 * can foresee. The host backend stands for the driver, whose own share is so zero. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/core.h"
#include "core/runtime.h"
#include "tests/host/backend_host.h"

#define POINTERS 8
#define ROUNDS 400
#define LAUNCHES 1000 /* in a round: the period that the predictor finds */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct row {
    const char *name, *trace, *policy;
    bool by_chance;
    int idle_gib; /* allocated and never used: memory is short */
};

static double launches(uint64_t *const *pointers, const struct sl_host_kernel *kernels, uint32_t kernel_count,
                       bool by_chance)
{
    static uint32_t state = 1;
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (uint32_t i = 0; i < LAUNCHES; i++) {
            void *parameters[POINTERS];
            uint32_t at = by_chance ? (state = state * 1664525 + 1013904223) >> 16 : i;
            for (uint32_t p = 0; p < POINTERS; p++) parameters[p] = (void *)&pointers[(at + p) % 64];
            struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                                       .function = (uint64_t)&kernels[at % kernel_count],
                                       .grid = {1, 1, 1},
                                       .block = {128, 1, 1},
                                       .parameters = parameters};
            sl_runtime_launch_begin(&launch);
            sl_runtime_launch_end(&launch, true);
        }
        double each = (now_ns() - start) / LAUNCHES;
        if (each < best) best = each;
    }
    return best;
}

static void measure(const struct row *row)
{
    setenv("SLUICE_TRACE", row->trace, 1);
    setenv("SLUICE_POLICY", row->policy, 1);
    setenv("SLUICE_DEVICE_BUDGET", "1G", 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    static const uint32_t offsets[POINTERS] = {0, 8, 16, 24, 32, 40, 48, 56},
                          sizes[POINTERS] = {8, 8, 8, 8, 8, 8, 8, 8};
    static const struct sl_host_kernel kernels[] = {
        {"a", POINTERS, offsets, sizes}, {"b", POINTERS, offsets, sizes}, {"c", POINTERS, offsets, sizes}};
    uint64_t *pointers[64];
    struct sl_backend backend;
    sl_runtime_load();
    if (sl_backend_host_new(4 * SL_GIB, &backend) || sl_runtime_start(&backend)) _exit(1);
    for (int p = 0; p < 64; p++) {
        uint64_t address = ((uint64_t)1 << 40) + (uint64_t)p * SL_MIB; /* the driver's */
        if (sl_runtime_records_only())
            sl_runtime_note_alloc(address, SL_MIB, (uint64_t)p);
        else if (sl_runtime_alloc(SL_MIB, (uint64_t)p, 0, NULL, &address))
            _exit(1);
        pointers[p] = (uint64_t *)address;
    }
    for (int g = 0; g < row->idle_gib; g++) {
        uint64_t address;
        if (sl_runtime_alloc(SL_GIB, 100, 0, NULL, &address)) _exit(1);
    }
    launches(pointers, kernels, 3, row->by_chance);
    uint64_t calls = sl_backend_host_books(&backend)->calls;
    double each = launches(pointers, kernels, 3, row->by_chance);
    calls = sl_backend_host_books(&backend)->calls - calls;
    printf("%-24s %8.1f ns a launch, %llu driver calls\n", row->name, each, (unsigned long long)calls);
    fflush(stdout);
    sl_runtime_stop(false);
    _exit(0);
}

int main(void)
{
    static const struct row rows[] = {{"trace off", "", "plan", false, 0},
                                      {"trace on", "/tmp/sluice-bench-%p.trace", "plan", false, 0},
                                      {"recording only", "/tmp/sluice-bench-%p.trace", "off", false, 0},
                                      {"by chance", "", "plan", true, 0},
                                      {"by chance, memory short", "", "plan", true, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pid_t child = fork();
        if (child == 0) measure(&rows[i]);
        int status;
        waitpid(child, &status, 0);
        if (status) return 1;
    }
    return 0;
}
