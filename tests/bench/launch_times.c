/* How long each call of a training loop takes on the host's clock (see launch_times.py).
 *
 * usage: launch_times STEPS
 *
 * A step launches two kernels for each of 24 buffers of 2 MiB and allocates and frees one more in between;
 * then the host waits. The first half of the steps warms up. Prints `NAME COUNT MEDIAN P99 LONGEST` in
 * microseconds for launches, allocations and frees, and `step MICROSECONDS`, the mean. Fails if a buffer has
 * a wrong sum.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cuda.h>

#include "must.h"

enum { BUFFERS = 24, BYTES = 2 << 20, WORDS = 32, MOST_STEPS = 10000 };

/* Adds the second buffer's words to the first one's, and 1. */
static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .entry add(.param .u64 to, .param .u64 from) {\n"
                          " .reg .u64 %p<5>; .reg .u32 %r<5>;\n"
                          " ld.param.u64 %p1, [to]; ld.param.u64 %p2, [from];\n"
                          " mov.u32 %r1, %tid.x; mul.wide.u32 %p3, %r1, 4;\n"
                          " add.u64 %p1, %p1, %p3; add.u64 %p2, %p2, %p3;\n"
                          " ld.global.u32 %r2, [%p1]; ld.global.u32 %r3, [%p2];\n"
                          " add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, 1;\n"
                          " st.global.u32 [%p1], %r2; ret; }\n";

struct times {
    const char *name;
    double *us;
    size_t count;
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void note(struct times *times, double begin_us)
{
    times->us[times->count++] = now_us() - begin_us;
}

static void launch(CUfunction add, CUdeviceptr to, CUdeviceptr from, struct times *times)
{
    void *parameters[] = {&to, &from};
    double begin = now_us();
    must(cuLaunchKernel(add, 1, 1, 1, WORDS, 1, 1, 0, NULL, parameters, NULL));
    note(times, begin);
}

/* `times`: of launches, allocations and frees. `sums`: what the buffers hold. */
static void step(CUfunction add, const CUdeviceptr *buffers, uint32_t *sums, struct times *times)
{
    for (int b = 0; b < BUFFERS; b++) {
        int other = (b + BUFFERS / 2) % BUFFERS;
        CUdeviceptr passing;
        double begin = now_us();
        must(cuMemAlloc(&passing, BYTES));
        note(&times[1], begin);
        launch(add, passing, buffers[b], &times[0]); /* what it holds is not looked at */
        launch(add, buffers[b], buffers[other], &times[0]);
        sums[b] += sums[other] + 1;
        begin = now_us();
        must(cuMemFree(passing));
        note(&times[2], begin);
    }
    must(cuCtxSynchronize());
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print(struct times *times)
{
    qsort(times->us, times->count, sizeof *times->us, by_size);
    printf("%s %zu %.1f %.1f %.1f\n", times->name, times->count, times->us[times->count / 2],
           times->us[times->count * 99 / 100], times->us[times->count - 1]);
}

static bool are_right(const CUdeviceptr *buffers, const uint32_t *sums)
{
    for (int b = 0; b < BUFFERS; b++) {
        uint32_t words[WORDS];
        must(cuMemcpyDtoH(words, buffers[b], sizeof words));
        for (int w = 0; w < WORDS; w++)
            if (words[w] != sums[b]) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 200;
    if (steps < 2 || steps > MOST_STEPS) {
        fprintf(stderr, "launch_times: steps must be 2 to %d\n", MOST_STEPS);
        return 2;
    }
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CUdeviceptr buffers[BUFFERS];
    uint32_t sums[BUFFERS] = {0};
    struct times times[] = {{.name = "launch"}, {.name = "allocation"}, {.name = "free"}};
    double begin_us = 0;
    must(cuInit(0));
    must(cuDeviceGet(&device, 0));
    must(cuDevicePrimaryCtxRetain(&context, device));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, ptx));
    must(cuModuleGetFunction(&add, module, "add"));
    for (int b = 0; b < BUFFERS; b++) {
        must(cuMemAlloc(&buffers[b], BYTES));
        must(cuMemsetD8(buffers[b], 0, BYTES));
    }
    for (int t = 0; t < 3; t++)
        if (!(times[t].us = calloc((size_t)steps * BUFFERS * 2, sizeof(double)))) return 1;
    for (int s = 0; s < steps; s++) {
        if (s == steps / 2) {
            for (int t = 0; t < 3; t++) times[t].count = 0;
            begin_us = now_us();
        }
        step(add, buffers, sums, times);
    }
    double step_us = (now_us() - begin_us) / (steps - steps / 2);
    for (int t = 0; t < 3; t++) print(&times[t]);
    printf("step %.1f\n", step_us);
    bool right = are_right(buffers, sums);
    if (!right) fprintf(stderr, "launch_times: a buffer has a wrong sum\n");
    for (int t = 0; t < 3; t++) free(times[t].us);
    return right ? 0 : 1;
}
