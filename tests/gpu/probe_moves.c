/* What each way of moving or giving up a chunk costs: discards, and the fetches and evictions after them. A
 * move that takes as long as a fetch of the same size copied it; one that is far shorter did not. */
#include <stdio.h>

#include "probe.h"

/* History and the measured move, by the letters of move() in probe.h. */
static const struct {
    const char *name, *history;
    char step;
} moves[] = {
    {"fetch", "he", 'd'},
    {"fetch what is resident", "hed", 'd'},
    {"evict, written by the host only", "hed", 'e'},
    {"evict, written on the device", "hedw", 'e'},
    {"evict what is on the host", "hede", 'e'},
    {"populate by a fetch", "", 'd'},
    {"populate by a write on the device", "", 'w'},
    {"write what is resident", "hed", 'w'},
    {"write what is on the host", "hede", 'w'},
    {"discard what is resident", "hedw", 'x'},
    {"discard what is on the host", "hede", 'x'},
    {"evict after a discard", "hedwx", 'e'},
    {"fetch after a discard on the device", "hedwx", 'd'},
    {"fetch after a discard on the host", "hedex", 'd'},
    {"write after a discard on the device", "hedwx", 'w'},
    {"fetch what was discarded, then evicted", "hedwxe", 'd'},
    {"discard and fetch, on the host", "hede", 'p'},
    {"discard and fetch, resident", "hedw", 'p'},
    {"discard and fetch, never touched", "", 'p'},
};

struct cost {
    double call_seconds, device_seconds;
    int64_t device_bytes_taken;
};

static bool measure(const struct probe *probe, size_t row, uint64_t bytes, CUstream stream, struct cost *out)
{
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    CUevent begin = event_new(), end = event_new();
    bool done = move_all(probe, moves[row].history, memory, bytes, stream);
    if (done) {
        uint64_t free_before = free_device_bytes();
        MUST(cu.cuEventRecord(begin, stream));
        double before = now_seconds();
        done = move(probe, moves[row].step, memory, bytes, stream);
        out->call_seconds = now_seconds() - before;
        MUST(cu.cuEventRecord(end, stream));
        out->device_seconds = elapsed_seconds(begin, end);
        out->device_bytes_taken = (int64_t)free_before - (int64_t)free_device_bytes();
    }
    MUST(cu.cuEventDestroy(begin));
    MUST(cu.cuEventDestroy(end));
    MUST(cu.cuMemFree(memory));
    return done;
}

void part_moves(struct probe *probe)
{
    static const uint64_t chunk_mib[] = {2, 32};
    CUstream stream = stream_new();
    for (size_t size = 0; size < sizeof chunk_mib / sizeof *chunk_mib; size++) {
        uint64_t bytes = chunk_mib[size] * MIB;
        double fetch_seconds = 0; /* the first row's */
        for (size_t row = 0; row < sizeof moves / sizeof *moves; row++) {
            struct cost best = {0}, cost;
            for (int i = 0; i < probe->repeat; i++) {
                if (!measure(probe, row, bytes, stream, &cost)) break;
                if (i == 0 || cost.device_seconds < best.device_seconds) best = cost;
                if (row == 0) fetch_seconds = best.device_seconds;
                if (i + 1 < probe->repeat) continue;
                printf("{\"part\": \"moves\", \"move\": \"%s\", \"bytes\": %llu, \"call_us\": %.2f, "
                       "\"device_us\": %.2f, \"of_a_fetch\": %.3f, \"device_bytes_taken\": %lld}\n",
                       moves[row].name, (unsigned long long)bytes, best.call_seconds * 1e6,
                       best.device_seconds * 1e6, fetch_seconds > 0 ? best.device_seconds / fetch_seconds : 0,
                       (long long)best.device_bytes_taken);
            }
        }
    }
    MUST(cu.cuStreamDestroy(stream));
}
