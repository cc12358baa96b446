/* A million live allocations, freed in another order: what each costs in the process's memory is bounded, and
 * what is said of an address stays right. Prints time and bytes for each allocation. */
#include "trainer.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define COUNT 1000000
#define LARGEST_COST_BYTES 256

static CUdeviceptr addresses[COUNT];

static size_t size_of(size_t i)
{
    return (i % 16 + 1) * 32;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static size_t resident_bytes(void)
{
    unsigned long total, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    must(file && fscanf(file, "%lu %lu", &total, &resident) == 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Visits every index once: COUNT and the step have no common divisor. */
static size_t shuffled(size_t i)
{
    return i * 611953 % COUNT;
}

int main(void)
{
    struct trainer trainer;
    must(!trainer_start(&trainer) && !trainer_steps(&trainer, 2));
    for (size_t i = 0; i < COUNT; i++) addresses[i] = 1; /* so that its own pages are not counted */
    size_t before_bytes = resident_bytes();
    double start = seconds();
    for (size_t i = 0; i < COUNT; i++) must(!cuMemAlloc(&addresses[i], size_of(i)));
    double allocated = seconds();
    size_t cost_bytes = resident_bytes() - before_bytes;
    for (size_t i = 0; i < COUNT; i += 997) {
        CUdeviceptr base;
        size_t bytes;
        must(!cuMemGetAddressRange(&base, &bytes, addresses[i] + size_of(i) - 1));
        must(base == addresses[i] && bytes == size_of(i));
    }
    must(!trainer_steps(&trainer, 5) && !trainer_check(&trainer));
    double checked = seconds();
    for (size_t i = 0; i < COUNT; i++) must(!cuMemFree(addresses[shuffled(i)]));
    double freed = seconds();
    must(cuMemFree(addresses[0]) == CUDA_ERROR_INVALID_VALUE);
    printf("%.0f ns and %.0f bytes for each of %d allocations, %.0f ns for each free\n",
           (allocated - start) * 1e9 / COUNT, (double)cost_bytes / COUNT, COUNT,
           (freed - checked) * 1e9 / COUNT);
    must(cost_bytes < (size_t)COUNT * LARGEST_COST_BYTES);
    must(!trainer_steps(&trainer, 5) && !trainer_check(&trainer) && !trainer_stop(&trainer));
    return 0;
}
