/* What driver calls cost a program: run it without and with sluice preloaded (see calls.py).
 *
 * usage: calls LIVE
 *
 * Prints `NAME NANOSECONDS` for a launch with eight pointers, a launch with a parameter block of 4 KiB that
 * holds eight pointers, and an allocation and its free beside LIVE others, from one thread and from two. The
 * best round counts. Memory is small enough to be resident. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cuda.h>

#include "must.h"

enum { LAUNCHES = 1000, ROUNDS = 100, BUFFERS = 64, LOOP = 500, THREADS = 2, BLOCK_WORDS = 512 };

static const char ptx[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry eight(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e,\n"
    " .param .u64 f, .param .u64 g, .param .u64 h) { ret; }\n"
    ".visible .entry block(.param .align 8 .b8 words[4096]) { ret; }\n";

static CUcontext context;
static CUdeviceptr buffers[BUFFERS];
static pthread_barrier_t together;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double launch_eight(CUfunction function)
{
    double start = now_ns();
    for (int i = 0; i < LAUNCHES; i++) {
        void *parameters[8];
        for (int p = 0; p < 8; p++) parameters[p] = &buffers[(i + p) % BUFFERS];
        must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    }
    return (now_ns() - start) / LAUNCHES;
}

static double launch_block(CUfunction function)
{
    static uint64_t words[BLOCK_WORDS];
    for (int w = 0; w < BLOCK_WORDS; w++) words[w] = w % 64 ? (uint64_t)w : buffers[w / 64];
    void *parameters[] = {words};
    double start = now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    return (now_ns() - start) / LAUNCHES;
}

static void measure_launches(const char *name, double (*launch)(CUfunction), CUfunction function)
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double each = launch(function);
        must(cuCtxSynchronize());
        if (each < best) best = each;
    }
    printf("%s %.1f\n", name, best);
}

/* The same allocations in each round, as a training loop makes them; then they are freed. */
static void *allocate(void *best_ns)
{
    double *best = best_ns;
    must(cuCtxSetCurrent(context));
    *best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        CUdeviceptr taken[LOOP];
        pthread_barrier_wait(&together);
        double start = now_ns();
        for (int i = 0; i < LOOP; i++) must(cuMemAlloc(&taken[i], (size_t)512 << i % 4));
        for (int i = 0; i < LOOP; i++) must(cuMemFree(taken[i]));
        double each = (now_ns() - start) / LOOP;
        if (each < *best) *best = each;
    }
    return NULL;
}

static void measure_allocations(int threads)
{
    pthread_t others[THREADS];
    double best[THREADS], sum = 0;
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++)
        if (pthread_create(&others[t], NULL, allocate, &best[t])) exit(1);
    for (int t = 0; t < threads; t++) {
        pthread_join(others[t], NULL);
        sum += best[t];
    }
    printf("allocations_%d %.1f\n", threads, sum / threads);
}

int main(int argc, char **argv)
{
    int live = argc > 1 ? atoi(argv[1]) : 100000;
    CUdevice device;
    CUmodule module;
    CUfunction eight, block;
    must(cuInit(0));
    must(cuDeviceGet(&device, 0));
    must(cuDevicePrimaryCtxRetain(&context, device));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, ptx));
    must(cuModuleGetFunction(&eight, module, "eight"));
    must(cuModuleGetFunction(&block, module, "block"));
    for (int b = 0; b < BUFFERS; b++) must(cuMemAlloc(&buffers[b], 1 << 20));
    measure_launches("launch_eight", launch_eight, eight);
    measure_launches("launch_block", launch_block, block);
    for (int i = 0; i < live; i++) {
        CUdeviceptr kept;
        must(cuMemAlloc(&kept, 512));
    }
    for (int threads = 1; threads <= THREADS; threads++) measure_allocations(threads);
    return 0;
}
