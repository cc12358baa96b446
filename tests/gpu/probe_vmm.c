/* What the virtual-memory API costs: creating memory of the device and of a node of the host, mapping it,
 * giving access, unmapping, releasing; on an idle device and beside a kernel that runs on other memory. What
 * the driver does not support is said. */
#include <stdio.h>
#include <stdlib.h>

#include "probe.h"

enum kind { OF_DEVICE, OF_HOST, KINDS };
static const char *const kind_names[KINDS] = {"device", "host"};

enum step { CREATE, MAP, ACCESS, UNMAP, RELEASE, STEPS };
static const char *const step_names[STEPS] = {"create", "map", "access", "unmap", "release"};

enum { MOST_ROUNDS = 20 };

struct costs {
    double seconds[STEPS][MOST_ROUNDS];
    bool waited[STEPS]; /* the kernel had ended when the call returned */
    int rounds;
};

static bool is_complete(void)
{
    return cu.cuMemCreate && cu.cuMemRelease && cu.cuMemAddressReserve && cu.cuMemAddressFree &&
           cu.cuMemMap && cu.cuMemUnmap && cu.cuMemSetAccess && cu.cuMemGetAllocationGranularity;
}

static void say(enum kind kind, const char *call, CUresult result)
{
    const char *name = NULL;
    cu.cuGetErrorName(result, &name);
    printf("{\"part\": \"vmm\", \"memory\": \"%s\", \"said\": \"not supported: %s: %s\"}\n", kind_names[kind],
           call, name ? name : "unknown error");
}

static CUmemAllocationProp properties(const struct probe *probe, enum kind kind)
{
    CUmemAllocationProp found = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = probe->device}};
    int node = -1;
    if (kind == OF_DEVICE) return found;
    cu.cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, probe->device);
    found.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = node < 0 ? 0 : node};
    return found;
}

static CUresult give_access(const struct probe *probe, CUdeviceptr at, uint64_t bytes)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = probe->device},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return cu.cuMemSetAccess(at, bytes, &access, 1);
}

static CUresult take(const struct probe *probe, enum kind kind, enum step step, CUdeviceptr at,
                     uint64_t bytes, CUmemGenericAllocationHandle *handle)
{
    CUmemAllocationProp wanted = properties(probe, kind);
    switch (step) {
    case CREATE:
        return cu.cuMemCreate(handle, bytes, &wanted, 0);
    case MAP:
        return cu.cuMemMap(at, bytes, 0, *handle, 0);
    case ACCESS:
        return give_access(probe, at, bytes);
    case UNMAP:
        return cu.cuMemUnmap(at, bytes);
    default:
        return cu.cuMemRelease(*handle);
    }
}

/* One round of all steps. False, with a line that says why, if the driver refuses one; what was made is given
 * back. */
static bool run_round(const struct probe *probe, enum kind kind, CUdeviceptr at, uint64_t bytes,
                      CUstream busy, struct costs *costs)
{
    CUmemGenericAllocationHandle handle = 0;
    for (enum step step = 0; step < STEPS; step++) {
        if (busy) launch_spin(probe, busy);
        double before = now_seconds();
        CUresult result = take(probe, kind, step, at, bytes, &handle);
        costs->seconds[step][costs->rounds] = now_seconds() - before;
        if (busy && cu.cuStreamQuery(busy) == CUDA_SUCCESS) costs->waited[step] = true;
        if (busy) MUST(cu.cuStreamSynchronize(busy));
        if (result != CUDA_SUCCESS) {
            say(kind, step_names[step], result);
            if (step > MAP) cu.cuMemUnmap(at, bytes);
            if (step > CREATE) cu.cuMemRelease(handle);
            return false;
        }
        /* What is mapped is used once: a driver that puts work off does it. */
        if (step == ACCESS) {
            launch_write(probe, at, bytes, NULL);
            MUST(cu.cuStreamSynchronize(NULL));
        }
    }
    costs->rounds++;
    return true;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(const struct probe *probe, enum kind kind, CUdeviceptr at, uint64_t bytes, CUstream busy)
{
    struct costs costs = {0};
    if (!run_round(probe, kind, at, bytes, busy, &costs)) return false;
    costs = (struct costs){0}; /* the first one warms up */
    for (int i = 0; i < (busy ? MOST_ROUNDS / 4 : MOST_ROUNDS); i++)
        if (!run_round(probe, kind, at, bytes, busy, &costs)) return false;
    for (enum step step = 0; step < STEPS; step++) {
        double *seconds = costs.seconds[step];
        qsort(seconds, (size_t)costs.rounds, sizeof *seconds, by_size);
        printf(
            "{\"part\": \"vmm\", \"memory\": \"%s\", \"step\": \"%s\", \"bytes\": %llu, \"state\": \"%s\", "
            "\"median_us\": %.2f, \"longest_us\": %.2f, \"waits_for_kernel\": %s}\n",
            kind_names[kind], step_names[step], (unsigned long long)bytes, busy ? "beside a kernel" : "idle",
            seconds[costs.rounds / 2] * 1e6, seconds[costs.rounds - 1] * 1e6,
            costs.waited[step] ? "true" : "false");
    }
    return true;
}

/* How fast a kernel reads and writes memory of the kind that is mapped so. */
static void measure_use(const struct probe *probe, enum kind kind, CUdeviceptr at, uint64_t bytes)
{
    CUmemGenericAllocationHandle handle = 0;
    CUevent begin = event_new(), end = event_new();
    double best[2] = {0};
    if (take(probe, kind, CREATE, at, bytes, &handle) || take(probe, kind, MAP, at, bytes, &handle)) return;
    MUST(take(probe, kind, ACCESS, at, bytes, &handle));
    for (int write = 0; write < 2; write++)
        for (int i = 0; i <= probe->repeat; i++) {
            MUST(cu.cuEventRecord(begin, NULL));
            if (write)
                launch_write(probe, at, bytes, NULL);
            else
                launch_read(probe, at, bytes, NULL);
            MUST(cu.cuEventRecord(end, NULL));
            double seconds = elapsed_seconds(begin, end);
            if (i == 1 || (i > 1 && seconds < best[write])) best[write] = seconds;
        }
    printf("{\"part\": \"vmm\", \"memory\": \"%s\", \"step\": \"use\", \"bytes\": %llu, \"read_gbps\": %.3f, "
           "\"write_gbps\": %.3f}\n",
           kind_names[kind], (unsigned long long)bytes, (double)bytes / best[0] * 1e-9,
           (double)bytes / best[1] * 1e-9);
    MUST(take(probe, kind, UNMAP, at, bytes, &handle));
    MUST(take(probe, kind, RELEASE, at, bytes, &handle));
    MUST(cu.cuEventDestroy(begin));
    MUST(cu.cuEventDestroy(end));
}

static void measure_kind(const struct probe *probe, enum kind kind, CUstream other)
{
    static const uint64_t sizes_mib[] = {2, 32};
    CUmemAllocationProp wanted = properties(probe, kind);
    size_t granularity = 0;
    CUdeviceptr at;
    CUresult result =
        cu.cuMemGetAllocationGranularity(&granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (result == CUDA_SUCCESS && 32 * MIB % granularity) result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS) result = cu.cuMemAddressReserve(&at, 32 * MIB, granularity, 0, 0);
    if (result != CUDA_SUCCESS) {
        say(kind, "granularity and address", result);
        return;
    }
    for (size_t i = 0; i < sizeof sizes_mib / sizeof *sizes_mib; i++) {
        uint64_t bytes = sizes_mib[i] * MIB;
        if (bytes % granularity) continue;
        if (!measure(probe, kind, at, bytes, NULL)) break;
        if (!measure(probe, kind, at, bytes, other)) break;
        measure_use(probe, kind, at, bytes);
    }
    MUST(cu.cuMemAddressFree(at, 32 * MIB));
}

void part_vmm(struct probe *probe)
{
    CUstream other = stream_new();
    if (!is_complete()) {
        for (enum kind kind = 0; kind < KINDS; kind++)
            say(kind, "the driver lacks it", CUDA_ERROR_NOT_SUPPORTED);
        return;
    }
    for (enum kind kind = 0; kind < KINDS; kind++) measure_kind(probe, kind, other);
    MUST(cu.cuStreamDestroy(other));
}
