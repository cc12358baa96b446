/* How fast the engine is with one worker and with two: the kernels of kernels.cu, a row each.
 *
 *   engine_bench kernels.ptx [rounds [row]]
 *
 * Elapsed time is what counts on a quiet machine; the processor time of one worker tells more on a busy one.
 * Every figure is the best of several rounds, in which one and two workers take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

static struct sc_range ranges[32];
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

static void *allocate_words(size_t count)
{
    uint32_t *memory = aligned_alloc(256, (count * sizeof *memory + 255) / 256 * 256);
    if (!memory || range_count == sizeof ranges / sizeof *ranges) exit(1);
    ranges[range_count++] = (struct sc_range){(uint64_t)(uintptr_t)memory,
                                              (uint64_t)(uintptr_t)(memory + count), SC_RANGE_MANAGED};
    return memory;
}

static float *allocate_floats(size_t count, float value)
{
    float *memory = allocate_words(count);
    for (size_t i = 0; i < count; i++) memory[i] = value;
    return memory;
}

static uint32_t *allocate_noise(size_t count)
{
    uint32_t *memory = allocate_words(count);
    for (size_t i = 0; i < count; i++) memory[i] = (uint32_t)i * 2654435761u;
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

struct row {
    const char *kernel;
    const char *unit; /* "GFLOP/s", "ns/element", "us/launch" */
    double work;      /* of one launch: flops, or elements, or launches */
    uint32_t grid[2], block;
    void **parameters;
};

struct duration {
    double elapsed, processor; /* seconds */
};

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void run(const struct sc_module *module, const struct row *row, uint32_t workers)
{
    static const struct sc_address_space space = {find, NULL};
    const struct sc_function *function = sc_module_function(module, row->kernel);
    struct sc_function_info info;
    char packed[512];
    if (!function) exit(1);
    sc_function_info(function, &info);
    for (uint32_t i = 0; i < info.parameter_count; i++)
        memcpy(packed + info.parameters[i].offset_bytes, row->parameters[i], info.parameters[i].size_bytes);
    struct sc_launch launch = {.function = function,
                               .grid = {row->grid[0], row->grid[1], 1},
                               .block = {row->block, 1, 1},
                               .parameters = packed,
                               .space = &space,
                               .workers = workers};
    struct sc_cost cost;
    struct sc_fault fault;
    if (sc_run(&launch, &cost, &fault) != SC_ENGINE_OK) exit(1);
    sc_cost_free(&cost);
}

/* A launch, or as many as take about a millisecond */
static void measure(const struct sc_module *module, const struct row *row, uint32_t workers,
                    unsigned launches, struct duration *best)
{
    double begin = now(CLOCK_MONOTONIC), busy = now(CLOCK_PROCESS_CPUTIME_ID);
    for (unsigned i = 0; i < launches; i++) run(module, row, workers);
    double elapsed = (now(CLOCK_MONOTONIC) - begin) / launches;
    double processor = (now(CLOCK_PROCESS_CPUTIME_ID) - busy) / launches;
    if (elapsed < best->elapsed) best->elapsed = elapsed;
    if (processor < best->processor) best->processor = processor;
}

static double figure(const struct row *row, double seconds)
{
    if (row->unit[0] == 'G') return row->work / seconds * 1e-9;
    return seconds / row->work * (row->unit[0] == 'n' ? 1e9 : 1e6);
}

static void print_row(const struct sc_module *module, const struct row *row, int rounds)
{
    struct duration best[2] = {{1e9, 1e9}, {1e9, 1e9}};
    unsigned launches = row->unit[0] == 'u' ? 100 : 1;
    for (int round = 0; round < rounds; round++)
        for (uint32_t workers = 1; workers <= 2; workers++)
            measure(module, row, workers, launches, &best[workers - 1]);
    printf("%-10s %-10s %10.2f %10.2f %10.2f %10.2f\n", row->kernel, row->unit, figure(row, best[0].elapsed),
           figure(row, best[1].elapsed), best[0].elapsed / best[1].elapsed, figure(row, best[0].processor));
    fflush(stdout);
}

static struct sc_module *load(const char *path)
{
    static char text[1 << 20];
    struct sc_module_memory memory = {allocate, release, NULL};
    struct sc_module *module;
    struct sc_diagnostic diagnostic;
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) exit(1);
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    if (sc_module_load(text, bytes, &memory, &module, &diagnostic) == SC_ENGINE_OK) return module;
    fprintf(stderr, "line %u: %s\n", diagnostic.line, diagnostic.text);
    exit(1);
}

int main(int argc, char **argv)
{
    struct sc_module *module = load(argc > 1 ? argv[1] : NULL);
    int rounds = argc > 2 ? atoi(argv[2]) : 7, n = 512, rows = 2048, columns = 512, length = 512;
    const char *only = argc > 3 ? argv[3] : NULL;
    size_t count = 1 << 20;
    uint32_t limit = 300;
    float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, decay = 0.1f;
    float *a = allocate_floats(count, 0.5f), *b = allocate_floats(count, 0.25f),
          *c = allocate_floats(count, 0);
    float *d = allocate_floats(count, 0.125f), *e = allocate_floats(count, 0);
    uint32_t *noise = allocate_noise(count);
    double elements = (double)count, pairs = 0.5 * length * (length + 1) * 8;
    uint32_t blocks = (uint32_t)(count / 256);
    const struct row table[] = {
        {"product", "GFLOP/s", 2.0 * n * n * n, {8, 8}, 256, (void *[]){&a, &b, &c, &n}},
        {"adamw",
         "ns/element",
         elements,
         {blocks, 1},
         256,
         (void *[]){&e, &b, &c, &d, &count, &rate, &beta1, &beta2, &epsilon, &decay}},
        {"layernorm", "ns/element", elements, {256, 1}, 256, (void *[]){&c, &a, &b, &d, &rows, &columns}},
        {"softmax", "ns/element", elements, {2048, 1}, 128, (void *[]){&c, &a, &columns}},
        {"attention", "GFLOP/s", pairs * 32 * 5, {4, 8}, 128, (void *[]){&c, &a, &b, &d, &length}},
        {"histogram", "ns/element", elements, {256, 1}, 256, (void *[]){&c, &noise, &count}},
        {"scatter", "ns/element", elements, {blocks, 1}, 256, (void *[]){&c, &noise, &a, &count}},
        {"total", "ns/element", elements, {128, 1}, 256, (void *[]){&c, &a, &count}},
        {"divergent", "ns/element", 65536, {256, 1}, 256, (void *[]){&c, &limit}},
        {"nothing", "us/launch", 1, {32, 1}, 256, (void *[]){&c}},
    };
    printf("%-10s %-10s %10s %10s %10s %10s\n", "kernel", "", "1 worker", "2 workers", "ratio", "1, busy");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!only || strcmp(only, table[i].kernel) == 0) print_row(module, &table[i], rounds);
    sc_module_unload(module);
    return 0;
}
