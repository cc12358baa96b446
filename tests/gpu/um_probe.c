/* um_probe PART [--bytes N] [--spin N] [--repeat N] [--width N] [--clock host|device]: how unified memory
 * behaves on this machine. Exit status: 0 measured, 1 something failed, 2 wrong usage, 77 the machine cannot
 * do it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "probe.h"

enum { EXIT_USAGE = 2, EXIT_SKIPPED = 77 };

static const struct {
    const char *name;
    void (*run)(struct probe *probe);
} parts[] = {
    {"device", part_device},         {"bandwidth", part_bandwidth},
    {"scaling", part_scaling},       {"beside", part_beside},
    {"readmostly", part_readmostly}, {"streaming", part_streaming},
    {"copies", part_copies},         {"vmm", part_vmm},
    {"residency", part_residency},   {"moves", part_moves},
    {"remote", part_remote},         {"calls", part_calls},
    {"allocate", part_allocate},     {"names", part_names},
    {"events", part_events},         {"prefetches", part_prefetches},
    {"memory", part_memory},         {"nodes", part_nodes},
    {"queue", part_queue},           {"discards", part_discards},
    {"reuse", part_reuse},           {"tensormap", part_tensormap},
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

struct arguments {
    int part;
    long long bytes, spin, repeat, width;
    bool device_clock;
};

static bool read_number(const char *text, long long *out)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < 1) return false;
    *out = value;
    return true;
}

static bool read_arguments(struct arguments *out, int argc, char **argv)
{
    const struct {
        const char *name;
        long long *value;
    } options[] = {{"--bytes", &out->bytes},
                   {"--spin", &out->spin},
                   {"--repeat", &out->repeat},
                   {"--width", &out->width}};
    *out = (struct arguments){-1, 4ll << 30, 1ll << 40, 3, 2048, false};
    if (argc < 2) return false;
    for (int i = 0; i < PART_COUNT; i++)
        if (!strcmp(argv[1], parts[i].name)) out->part = i;
    for (int i = 2; i < argc; i += 2) {
        bool known = false;
        for (size_t o = 0; o < sizeof options / sizeof *options; o++)
            if (!strcmp(argv[i], options[o].name) && i + 1 < argc)
                known = read_number(argv[i + 1], options[o].value);
        if (!strcmp(argv[i], "--clock") && i + 1 < argc) {
            out->device_clock = !strcmp(argv[i + 1], "device");
            known = out->device_clock || !strcmp(argv[i + 1], "host");
        }
        if (!known) return false;
    }
    return out->part >= 0 && out->width % 16 == 0 && out->width <= 1 << 15;
}

/* What the control group holds of files, which it can give up. */
static uint64_t file_bytes(void)
{
    unsigned long long value, sum = 0;
    char line[256];
    FILE *file = fopen("/sys/fs/cgroup/memory.stat", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "active_file %llu", &value) == 1 || sscanf(line, "inactive_file %llu", &value) == 1)
            sum += value;
    if (file) fclose(file);
    return sum;
}

/* What the machine can spare: MemAvailable, and what the control group leaves. */
static uint64_t free_host_bytes(void)
{
    uint64_t available = UINT64_MAX;
    unsigned long long value, used;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &value) == 1) available = value * 1024;
    if (file) fclose(file);
    FILE *most = fopen("/sys/fs/cgroup/memory.max", "r"), *now = fopen("/sys/fs/cgroup/memory.current", "r");
    if (most && now && fscanf(most, "%llu", &value) == 1 && fscanf(now, "%llu", &used) == 1) {
        uint64_t files = file_bytes(), held = used > files ? used - files : 0;
        uint64_t left = value > held ? value - held : 0;
        if (left < available) available = left;
    }
    if (most) fclose(most);
    if (now) fclose(now);
    return available;
}

/* A quarter of what the device and the host have free at most: an oversubscribed device can hang. */
static uint64_t bytes_to_use(uint64_t asked)
{
    uint64_t bytes = asked, device = free_device_bytes() / 4, host = free_host_bytes() / 4;
    if (bytes > device) bytes = device;
    if (bytes > host) bytes = host;
    return bytes & ~(2 * MIB - 1);
}

/* As many rounds as take about 20 ms, but no more than `most`. */
static void calibrate_spin(struct probe *probe, uint64_t most)
{
    const double aim_seconds = 0.02;
    CUstream stream = stream_new();
    CUevent begin = event_new(), end = event_new();
    probe->spin_count = most < 100000 ? most : 100000;
    for (int i = 0; i < 2; i++) { /* the first one loads the kernel */
        MUST(cu.cuEventRecord(begin, stream));
        launch_spin(probe, stream);
        MUST(cu.cuEventRecord(end, stream));
        MUST(cu.cuStreamSynchronize(stream));
    }
    double seconds = elapsed_seconds(begin, end);
    double count = seconds > 0 ? (double)probe->spin_count * aim_seconds / seconds : (double)most;
    probe->spin_count = count < (double)most ? (uint64_t)count : most;
    MUST(cu.cuEventDestroy(begin));
    MUST(cu.cuEventDestroy(end));
    MUST(cu.cuStreamDestroy(stream));
}

static void probe_open(struct probe *probe, const struct arguments *arguments)
{
    CUmodule module;
    MUST(cu.cuInit(0));
    MUST(cu.cuDeviceGet(&probe->device, 0));
    MUST(cu.cuDevicePrimaryCtxRetain(&probe->context, probe->device));
    MUST(cu.cuCtxSetCurrent(probe->context));
    MUST(cu.cuModuleLoadData(&module, probe_kernels));
    MUST(cu.cuModuleGetFunction(&probe->spin, module, "spin"));
    MUST(cu.cuModuleGetFunction(&probe->nothing, module, "nothing"));
    MUST(cu.cuModuleGetFunction(&probe->read_all, module, "read_all"));
    MUST(cu.cuModuleGetFunction(&probe->write_all, module, "write_all"));
    MUST(cu.cuModuleGetFunction(&probe->product, module, "product"));
    MUST(cu.cuModuleGetFunction(&probe->copy_all, module, "copy_all"));
    MUST(cu.cuModuleGetFunction(&probe->fill, module, "fill"));
    MUST(cu.cuModuleGetFunction(&probe->count_others, module, "count_others"));
    MUST(cu.cuMemAlloc(&probe->scratch, 4096));
    probe->can_discard = cu.cuMemDiscardBatchAsync && cu.cuMemDiscardAndPrefetchBatchAsync;
    probe->repeat = (int)arguments->repeat;
    probe->product_width = (int)arguments->width;
    probe->bytes = bytes_to_use((uint64_t)arguments->bytes);
    calibrate_spin(probe, (uint64_t)arguments->spin);
    if (!arguments->device_clock) return;
    probe->origin = event_new();
    MUST(cu.cuEventRecord(probe->origin, NULL));
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct probe probe = {0};
    int concurrent = 0;
    if (!read_arguments(&arguments, argc, argv)) {
        fprintf(stderr, "usage: um_probe PART [--bytes N] [--spin N] [--repeat N] [--width N] "
                        "[--clock host|device]\nparts:");
        for (int i = 0; i < PART_COUNT; i++) fprintf(stderr, " %s", parts[i].name);
        fprintf(stderr, "\n");
        return EXIT_USAGE;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("CUDA_MODULE_LOADING", "EAGER", 0); /* no kernel's first launch pays for its loading */
    if (!driver_load()) return EXIT_SKIPPED;
    answer_for(parts[arguments.part].name);
    if (parts[arguments.part].run == part_names || parts[arguments.part].run == part_tensormap) {
        parts[arguments.part].run(NULL);
        return EXIT_SUCCESS;
    }
    probe_open(&probe, &arguments);
    MUST(cu.cuDeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, probe.device));
    if (parts[arguments.part].run != part_device && (!concurrent || probe.bytes < 32 * MIB)) {
        fprintf(stderr, "um_probe: %s\n",
                concurrent ? "too little memory is free" : "the device has no concurrent managed access");
        return EXIT_SKIPPED;
    }
    parts[arguments.part].run(&probe);
    MUST(cu.cuCtxSynchronize());
    MUST(cu.cuDevicePrimaryCtxRelease(probe.device));
    return EXIT_SUCCESS;
}
