/* How fast the engine is on one core and on two: a tiled matrix product and AdamW, from kernels.cu. Elapsed
 * time is what counts on a quiet machine; processor time tells more on a busy one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

static struct sc_range ranges[16];
static size_t range_count;

static bool find(void *context, uint64_t address, struct sc_range *out)
{
    (void)context;
    for (size_t i = 0; i < range_count; i++) {
        if (address < ranges[i].begin || address >= ranges[i].end) continue;
        *out = ranges[i];
        return true;
    }
    return false;
}

static float *allocate_floats(size_t count, float value)
{
    float *memory = aligned_alloc(256, (count * sizeof *memory + 255) / 256 * 256);
    if (!memory || range_count == 16) exit(1);
    for (size_t i = 0; i < count; i++) memory[i] = value;
    ranges[range_count++] = (struct sc_range){(uint64_t)(uintptr_t)memory,
                                              (uint64_t)(uintptr_t)(memory + count), SC_RANGE_MANAGED};
    return memory;
}

static uint64_t allocate(void *context, size_t bytes, size_t align)
{
    (void)context, (void)align;
    return (uint64_t)(uintptr_t)allocate_floats(bytes / 4 + 1, 0);
}

static void release(void *context, uint64_t address)
{
    (void)context, (void)address;
}

struct duration {
    double elapsed, processor; /* seconds */
};

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The fastest of several launches */
static struct duration measure(const struct sc_module *module, const char *name, uint32_t x, uint32_t y,
                               uint32_t workers, void *const *parameters)
{
    static const struct sc_address_space space = {find, NULL};
    const struct sc_function *function = sc_module_function(module, name);
    struct sc_function_info info;
    char packed[512];
    struct duration best = {1e9, 1e9};
    if (!function) exit(1);
    sc_function_info(function, &info);
    for (uint32_t i = 0; i < info.parameter_count; i++)
        memcpy(packed + info.parameters[i].offset_bytes, parameters[i], info.parameters[i].size_bytes);
    for (int round = 0; round < 7; round++) {
        struct sc_launch launch = {function, {x, y, 1}, {256, 1, 1}, 0, packed, &space, workers, 0};
        struct sc_cost cost;
        struct sc_fault fault;
        double begin = now(CLOCK_MONOTONIC), busy = now(CLOCK_PROCESS_CPUTIME_ID);
        if (sc_run(&launch, &cost, &fault) != SC_ENGINE_OK) exit(1);
        begin = now(CLOCK_MONOTONIC) - begin;
        busy = now(CLOCK_PROCESS_CPUTIME_ID) - busy;
        sc_cost_free(&cost);
        if (begin < best.elapsed) best.elapsed = begin;
        if (busy < best.processor) best.processor = busy;
    }
    return best;
}

int main(int argc, char **argv)
{
    static char text[1 << 20];
    struct sc_module_memory memory = {allocate, release, NULL};
    struct sc_module *module;
    struct sc_diagnostic diagnostic;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file) return 1;
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    if (sc_module_load(text, bytes, &memory, &module, &diagnostic) != SC_ENGINE_OK) {
        fprintf(stderr, "line %u: %s\n", diagnostic.line, diagnostic.text);
        return 1;
    }
    int n = 512;
    size_t count = 1 << 20;
    float *a = allocate_floats(count, 0.5f), *b = allocate_floats(count, 0.25f),
          *c = allocate_floats(count, 0);
    float *d = allocate_floats(count, 0.125f), rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f,
          decay = 0.1f;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct duration product = measure(module, "product", 8, 8, workers, (void *[]){&a, &b, &c, &n});
        struct duration update =
            measure(module, "adamw", (uint32_t)(count / 256), 1, workers,
                    (void *[]){&a, &b, &c, &d, &count, &rate, &beta1, &beta2, &epsilon, &decay});
        double work = 2e-9 * n * n * n, elements = (double)count * 1e-9;
        printf("workers %u: product %.2f GFLOP/s (%.2f for each busy core), adamw %.2f ns an element (%.2f "
               "busy)\n",
               workers, work / product.elapsed, work / product.processor, update.elapsed / elements,
               update.processor / elements);
    }
    sc_module_unload(module);
    return 0;
}
