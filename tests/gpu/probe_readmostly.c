/* What read-mostly saves and costs: with it, a fetch leaves a valid copy on the host, and unsetting it with
 * preferred location host gives the device's copy up. What each step takes and moves, what the first write to
 * such memory costs, and whether the content stays right, seen from the device and from the host. */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "probe.h"

/* History and the measured step, by the letters of move() in probe.h and these:
 *   r  set read-mostly     u  unset it     k  a kernel reads all     n  a kernel writes NEW everywhere
 *   t  the host writes a word of each page, what it is already
 * Before the history, the memory has been populated and filled with OLD on the device, and evicted. */
static const struct {
    const char *name, *history;
    char step;
} steps[] = {
    {"fetch", "", 'd'},
    {"evict, clean", "dk", 'e'},
    {"set, on the host", "", 'r'},
    {"set, resident", "d", 'r'},
    {"fetch, read-mostly", "r", 'd'},
    {"unset, clean", "rdk", 'u'},
    {"evict, read-mostly", "rdk", 'e'},
    {"unset after an eviction", "rdke", 'u'},
    {"read, resident", "dk", 'k'},
    {"read, read-mostly", "rdk", 'k'},
    {"read after unset", "rdku", 'k'},
    {"fetch after unset", "rdku", 'd'},
    {"write, resident", "dk", 'n'},
    {"first write, read-mostly", "rdk", 'n'},
    {"second write, read-mostly", "rdkn", 'n'},
    {"unset, written", "rdkn", 'u'},
    {"host write, on the host", "", 't'},
    {"host write, read-mostly", "rdk", 't'},
    {"fetch after a host write, read-mostly", "rdkt", 'd'},
};

enum { OLD = 0x11111111, NEW = 0x22222222 };

static void take(const struct probe *probe, char step, CUdeviceptr memory, uint64_t bytes, CUstream stream)
{
    volatile unsigned *words = (volatile unsigned *)(uintptr_t)memory;
    if (step == 'r')
        advise(probe, memory, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, true);
    else if (step == 'u')
        advise(probe, memory, bytes, CU_MEM_ADVISE_UNSET_READ_MOSTLY, true);
    else if (step == 'k')
        launch_read(probe, memory, bytes, stream);
    else if (step == 'n')
        launch_fill(probe, memory, bytes, NEW, stream);
    else if (step == 't')
        for (uint64_t at = 0; at < bytes / sizeof *words; at += 4096 / sizeof *words) words[at] = OLD;
    else
        move(probe, step, memory, bytes, stream);
}

struct cost {
    double call_seconds, all_seconds;
    int64_t device_bytes_taken;
    bool right;
};

/* Seen from the device and from the host. */
static bool holds(const struct probe *probe, CUdeviceptr memory, uint64_t bytes, unsigned expected,
                  CUstream stream)
{
    launch_count(probe, memory, bytes, expected, stream);
    return counted(probe, stream) == 0 &&
           words_other_than((const void *)(uintptr_t)memory, bytes, expected) == 0;
}

static struct cost measure(const struct clock *clock, size_t row, uint64_t bytes, bool check, CUstream stream)
{
    const struct probe *probe = clock->probe;
    struct cost cost = {0};
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    unsigned expected = steps[row].step == 'n' || strchr(steps[row].history, 'n') ? NEW : OLD;
    prefetch(probe, memory, bytes, true, stream);
    launch_fill(probe, memory, bytes, OLD, stream);
    prefetch(probe, memory, bytes, false, stream);
    MUST(cu.cuStreamSynchronize(stream));
    for (const char *s = steps[row].history; *s; s++) {
        take(probe, *s, memory, bytes, stream);
        MUST(cu.cuStreamSynchronize(stream));
    }
    uint64_t free_before = free_device_bytes();
    double before = clock_seconds(clock);
    take(probe, steps[row].step, memory, bytes, stream);
    cost.call_seconds = clock_seconds(clock) - before;
    MUST(cu.cuStreamSynchronize(stream));
    cost.all_seconds = clock_seconds(clock) - before;
    cost.device_bytes_taken = (int64_t)free_before - (int64_t)free_device_bytes();
    cost.right = !check || holds(probe, memory, bytes, expected, stream);
    MUST(cu.cuMemFree(memory));
    return cost;
}

void part_readmostly(struct probe *probe)
{
    const uint64_t sizes_mib[] = {probe->bytes < 512 * MIB ? 4 : 32, 2};
    CUstream stream = stream_new();
    struct clock clock;
    clock_begin(&clock, probe);
    for (size_t size = 0; size < sizeof sizes_mib / sizeof *sizes_mib; size++) {
        uint64_t bytes = sizes_mib[size] * MIB;
        for (size_t row = 0; row < sizeof steps / sizeof *steps; row++) {
            struct cost best = measure(&clock, row, bytes, true, stream); /* it warms up */
            bool right = best.right;
            for (int i = 0; i < probe->repeat; i++) {
                struct cost cost = measure(&clock, row, bytes, false, stream);
                if (cost.all_seconds < best.all_seconds) best = cost;
            }
            printf("{\"part\": \"readmostly\", \"step\": \"%s\", \"bytes\": %llu, \"call_us\": %.2f, "
                   "\"until_done_us\": %.2f, \"device_bytes_taken\": %lld, \"right\": %s}\n",
                   steps[row].name, (unsigned long long)bytes, best.call_seconds * 1e6,
                   best.all_seconds * 1e6, (long long)best.device_bytes_taken, right ? "true" : "false");
        }
    }
    clock_end(&clock);
    MUST(cu.cuStreamDestroy(stream));
}
