/* What advice does: after each of several histories, is memory resident, and does a kernel that reads or
 * writes it make it so? Judged by the time of kernel reads against one of device memory, and by the device's
 * free memory. */
#include <stdio.h>

#include "probe.h"

/* History (see move() in probe.h), then a kernel uses the memory twice. */
static const struct {
    const char *name, *steps;
    bool writes;
} histories[] = {
    {"never touched, then read", "", false},
    {"never touched, then written", "", true},
    {"written by the host, then read", "h", false},
    {"written by the host, then written", "h", true},
    {"fetched, then read", "hd", false},
    {"populated by a fetch, then read", "d", false},
    {"evicted, then read", "hde", false},
    {"evicted, then written", "hde", true},
    {"written on the device, evicted, then read", "hdwe", false},
    {"discarded and fetched, then read", "hdxd", false},
};

static double time_use(const struct probe *probe, bool writes, CUdeviceptr memory, uint64_t bytes,
                       CUstream stream)
{
    CUevent begin = event_new(), end = event_new();
    MUST(cu.cuEventRecord(begin, stream));
    if (writes)
        launch_write(probe, memory, bytes, stream);
    else
        launch_read(probe, memory, bytes, stream);
    MUST(cu.cuEventRecord(end, stream));
    double seconds = elapsed_seconds(begin, end);
    MUST(cu.cuEventDestroy(begin));
    MUST(cu.cuEventDestroy(end));
    return seconds;
}

/* Of device memory, when it was used before. */
static double time_resident(const struct probe *probe, bool writes, uint64_t bytes, CUstream stream)
{
    CUdeviceptr memory;
    MUST(cu.cuMemAlloc(&memory, bytes));
    double best = time_use(probe, writes, memory, bytes, stream);
    for (int i = 0; i < probe->repeat; i++) {
        double seconds = time_use(probe, writes, memory, bytes, stream);
        if (seconds < best) best = seconds;
    }
    MUST(cu.cuMemFree(memory));
    return best;
}

static const char *last_prefetch(CUdeviceptr memory, uint64_t bytes)
{
    int device = CU_DEVICE_INVALID;
    MUST(cu.cuMemRangeGetAttribute(&device, sizeof device, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
                                   memory, bytes));
    return device == CU_DEVICE_CPU ? "host" : device >= 0 ? "device" : "none";
}

void part_residency(struct probe *probe)
{
    uint64_t bytes = probe->bytes < 256 * MIB ? probe->bytes / 2 : 128 * MIB;
    CUstream stream = stream_new();
    double resident[2] = {time_resident(probe, false, bytes, stream),
                          time_resident(probe, true, bytes, stream)};
    for (enum advice advice = 0; advice < ADVICE_COUNT; advice++) {
        for (size_t i = 0; i < sizeof histories / sizeof *histories; i++) {
            bool writes = histories[i].writes;
            uint64_t free_before = free_device_bytes();
            CUdeviceptr memory = managed_new(probe, bytes, advice);
            if (move_all(probe, histories[i].steps, memory, bytes, stream)) {
                double first = time_use(probe, writes, memory, bytes, stream);
                double second = time_use(probe, writes, memory, bytes, stream);
                /* Reads of memory that is not there go over the link: ten times slower and more. */
                bool now_resident = second < 3 * resident[writes];
                printf("{\"part\": \"residency\", \"advice\": \"%s\", \"history\": \"%s\", \"bytes\": %llu, "
                       "\"first_seconds\": %.7f, \"second_seconds\": %.7f, \"device_memory_seconds\": %.7f, "
                       "\"resident_after\": %s, \"device_bytes_taken\": %lld, \"last_prefetch\": \"%s\"}\n",
                       advice_names[advice], histories[i].name, (unsigned long long)bytes, first, second,
                       resident[writes], now_resident ? "true" : "false",
                       (long long)free_before - (long long)free_device_bytes(), last_prefetch(memory, bytes));
            }
            MUST(cu.cuMemFree(memory));
        }
    }
    MUST(cu.cuStreamDestroy(stream));
}
