/* What it costs to reserve managed memory and not to use it: time, device memory, alignment. */
#include <stdio.h>

#include "probe.h"

static double seconds_since(double before)
{
    return now_seconds() - before;
}

void part_allocate(struct probe *probe)
{
    static const uint64_t sizes_mib[] = {2, 64, 512, 2048};
    CUstream stream = stream_new();
    for (size_t i = 0; i < sizeof sizes_mib / sizeof *sizes_mib; i++) {
        uint64_t bytes = sizes_mib[i] * MIB, free_before = free_device_bytes();
        if (bytes > probe->bytes) break;
        double before = now_seconds();
        CUdeviceptr memory = managed_new(probe, bytes, ADVICE_NONE);
        double allocate_seconds = seconds_since(before);
        int64_t taken = (int64_t)free_before - (int64_t)free_device_bytes();

        before = now_seconds();
        advise(probe, memory, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, false);
        advise(probe, memory, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, true);
        double advise_seconds = seconds_since(before);
        int64_t taken_advised = (int64_t)free_before - (int64_t)free_device_bytes();

        move_all(probe, "d", memory, 2 * MIB, stream);
        int64_t taken_populated = (int64_t)free_before - (int64_t)free_device_bytes();
        before = now_seconds();
        MUST(cu.cuMemFree(memory));
        double free_seconds = seconds_since(before);
        printf("{\"part\": \"allocate\", \"bytes\": %llu, \"allocate_us\": %.2f, \"advise_us\": %.2f, "
               "\"free_us\": %.2f, "
               "\"device_bytes_taken\": %lld, \"device_bytes_taken_advised\": %lld, "
               "\"device_bytes_taken_with_2_mib_fetched\": %lld, \"aligned_to_bytes\": %llu}\n",
               (unsigned long long)bytes, allocate_seconds * 1e6, advise_seconds * 1e6, free_seconds * 1e6,
               (long long)taken, (long long)taken_advised, (long long)taken_populated,
               (unsigned long long)(memory & -memory));
    }
    MUST(cu.cuStreamDestroy(stream));
}
