/* How fast prefetches move data, and how long they hold up the thread that calls them: by direction, size of
 * a call, number of calling threads, and on a stream that is idle or has work before them. Explicit copies of
 * pinned memory say what the link can do. All memory is advised as sluice advises it. */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

/* A row of prefetches on one stream. */
struct flow {
    bool to_device;
    CUdeviceptr base;
    uint64_t bytes;
    CUstream stream;
    CUevent begin, end;
    double call_seconds, longest_call_seconds;
};

/* A thread and the flows whose calls it makes in turns. */
struct caller {
    const struct probe *probe;
    struct flow *flows;
    int flow_count;
    uint64_t call_bytes;
    pthread_barrier_t *start;
};

enum { IN, OUT, BOTH, DIRECTIONS, MOST_FLOWS = 2 };
static const char *const direction_names[DIRECTIONS] = {"in", "out", "both"};

struct setup {
    int direction, threads;
    uint64_t call_bytes;
    bool busy;
};

struct result {
    double gbps_in, gbps_out, mean_call_seconds, longest_call_seconds, blocked_seconds, seconds;
};

static void *issue(void *argument)
{
    const struct caller *caller = argument;
    MUST(cu.cuCtxSetCurrent(caller->probe->context));
    pthread_barrier_wait(caller->start);
    for (uint64_t at = 0; at < caller->flows[0].bytes; at += caller->call_bytes) {
        for (int i = 0; i < caller->flow_count; i++) {
            struct flow *flow = &caller->flows[i];
            double before = now_seconds();
            prefetch(caller->probe, flow->base + at, caller->call_bytes, flow->to_device, flow->stream);
            double seconds = now_seconds() - before;
            flow->call_seconds += seconds;
            if (seconds > flow->longest_call_seconds) flow->longest_call_seconds = seconds;
        }
    }
    for (int i = 0; i < caller->flow_count; i++)
        MUST(cu.cuEventRecord(caller->flows[i].end, caller->flows[i].stream));
    return NULL;
}

/* The flows of a setup over `memory`: both directions, or two threads of one, take half of it each. */
static int make_flows(struct flow *flows, const struct setup *setup, CUdeviceptr memory, uint64_t bytes,
                      const CUstream *streams)
{
    int count = setup->direction == BOTH ? 2 : setup->threads;
    for (int i = 0; i < count; i++) {
        flows[i] = (struct flow){.to_device = setup->direction == BOTH ? i == IN : setup->direction == IN,
                                 .base = memory + (uint64_t)i * (bytes / (uint64_t)count),
                                 .bytes = bytes / (uint64_t)count,
                                 .stream = streams[i],
                                 .begin = event_new(),
                                 .end = event_new()};
    }
    return count;
}

static struct result summarise(const struct flow *flows, int count, const struct setup *setup)
{
    struct result result = {0};
    double bytes[2] = {0}, seconds[2] = {0}, calls = 0, blocked = 0;
    for (int i = 0; i < count; i++) {
        const struct flow *flow = &flows[i];
        double took = elapsed_seconds(flow->begin, flow->end);
        int way = flow->to_device ? IN : OUT;
        bytes[way] += (double)flow->bytes;
        if (took > seconds[way]) seconds[way] = took;
        if (took > result.seconds) result.seconds = took;
        calls += (double)(flow->bytes / setup->call_bytes);
        blocked += flow->call_seconds;
        if (flow->longest_call_seconds > result.longest_call_seconds)
            result.longest_call_seconds = flow->longest_call_seconds;
    }
    result.gbps_in = seconds[IN] > 0 ? bytes[IN] / seconds[IN] * 1e-9 : 0;
    result.gbps_out = seconds[OUT] > 0 ? bytes[OUT] / seconds[OUT] * 1e-9 : 0;
    result.mean_call_seconds = blocked / calls;
    result.blocked_seconds = blocked / setup->threads;
    return result;
}

static struct result measure(const struct probe *probe, const struct setup *setup, CUdeviceptr memory,
                             uint64_t bytes, const CUstream *streams)
{
    struct flow flows[MOST_FLOWS];
    struct caller callers[MOST_FLOWS];
    pthread_t threads[MOST_FLOWS];
    pthread_barrier_t start;
    int count = make_flows(flows, setup, memory, bytes, streams), flows_each = count / setup->threads;
    for (int i = 0; i < count; i++) {
        prefetch(probe, flows[i].base, flows[i].bytes, !flows[i].to_device, flows[i].stream);
        MUST(cu.cuStreamSynchronize(flows[i].stream));
    }
    pthread_barrier_init(&start, NULL, (unsigned)setup->threads + 1);
    for (int i = 0; i < setup->threads; i++) {
        callers[i] = (struct caller){probe, flows + i * flows_each, flows_each, setup->call_bytes, &start};
        pthread_create(&threads[i], NULL, issue, &callers[i]);
    }
    for (int i = 0; i < count; i++) {
        if (setup->busy) launch_spin(probe, flows[i].stream);
        MUST(cu.cuEventRecord(flows[i].begin, flows[i].stream));
    }
    pthread_barrier_wait(&start);
    for (int i = 0; i < setup->threads; i++) pthread_join(threads[i], NULL);
    struct result result = summarise(flows, count, setup);
    for (int i = 0; i < count; i++) {
        MUST(cu.cuEventDestroy(flows[i].begin));
        MUST(cu.cuEventDestroy(flows[i].end));
    }
    pthread_barrier_destroy(&start);
    return result;
}

static void measure_setup(const struct probe *probe, const struct setup *setup, CUdeviceptr memory,
                          uint64_t bytes, const CUstream *streams)
{
    struct result best = {0};
    for (int i = 0; i < probe->repeat; i++) {
        struct result result = measure(probe, setup, memory, bytes, streams);
        if (result.gbps_in + result.gbps_out > best.gbps_in + best.gbps_out) best = result;
    }
    printf("{\"part\": \"bandwidth\", \"direction\": \"%s\", \"call_bytes\": %llu, \"threads\": %d, "
           "\"stream\": \"%s\", "
           "\"gbps_in\": %.3f, \"gbps_out\": %.3f, \"call_us\": %.2f, \"longest_call_us\": %.2f, "
           "\"blocked_seconds\": %.6f, \"seconds\": %.6f}\n",
           direction_names[setup->direction], (unsigned long long)setup->call_bytes, setup->threads,
           setup->busy ? "busy" : "idle", best.gbps_in, best.gbps_out, best.mean_call_seconds * 1e6,
           best.longest_call_seconds * 1e6, best.blocked_seconds, best.seconds);
}

static bool read_word(const char *path, const char *name, char *out, size_t size)
{
    char full[256];
    snprintf(full, sizeof full, path, name);
    FILE *file = fopen(full, "r");
    bool read = file && fgets(out, (int)size, file);
    if (file) fclose(file);
    if (read) out[strcspn(out, "\n\"\\")] = '\0';
    return read;
}

/* Speed and width of the link as they are while the device works: it is slower when it is idle. By the kernel
 * or, where that shows no PCI device, by nvidia-smi. Texts of at least 64 bytes; empty if neither knows. */
static void find_link(const struct probe *probe, char *speed, char *width)
{
    char bus[32] = "";
    speed[0] = width[0] = '\0';
    if (cu.cuDeviceGetPCIBusId(bus, sizeof bus, probe->device) != CUDA_SUCCESS) return;
    for (char *c = bus; *c; c++) *c = (char)tolower((unsigned char)*c);
    if (read_word("/sys/bus/pci/devices/%s/current_link_speed", bus, speed, 64) &&
        read_word("/sys/bus/pci/devices/%s/current_link_width", bus, width, 64))
        return;
    speed[0] = width[0] = '\0';
    FILE *smi = popen("nvidia-smi --id=0 --query-gpu=pcie.link.gen.current,pcie.link.width.current "
                      "--format=csv,noheader 2>/dev/null",
                      "r");
    int generation, lanes;
    if (smi && fscanf(smi, "%d , %d", &generation, &lanes) == 2) {
        snprintf(speed, 64, "PCIe %d", generation);
        snprintf(width, 64, "%d", lanes);
    }
    if (smi) pclose(smi);
}

/* Explicit copies between pinned and device memory. */
static void measure_copies(const struct probe *probe, uint64_t bytes, const CUstream *streams)
{
    void *host[2];
    CUdeviceptr device[2];
    for (int i = 0; i < 2; i++) {
        MUST(cu.cuMemHostAlloc(&host[i], bytes, 0));
        MUST(cu.cuMemAlloc(&device[i], bytes));
    }
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        double best[2] = {0};
        for (int round = 0; round < probe->repeat + 1; round++) { /* the first one warms up */
            CUevent begin[2] = {event_new(), event_new()}, end[2] = {event_new(), event_new()};
            for (int way = 0; way < 2; way++) {
                if (direction != BOTH && way != direction) continue;
                MUST(cu.cuEventRecord(begin[way], streams[way]));
                if (way == IN) MUST(cu.cuMemcpyHtoDAsync(device[way], host[way], bytes, streams[way]));
                if (way == OUT) MUST(cu.cuMemcpyDtoHAsync(host[way], device[way], bytes, streams[way]));
                MUST(cu.cuEventRecord(end[way], streams[way]));
            }
            for (int way = 0; way < 2; way++) {
                if (direction == BOTH || way == direction) {
                    double gbps = (double)bytes / elapsed_seconds(begin[way], end[way]) * 1e-9;
                    if (gbps > best[way]) best[way] = gbps;
                }
                MUST(cu.cuEventDestroy(begin[way]));
                MUST(cu.cuEventDestroy(end[way]));
            }
        }
        char speed[64], width[64];
        find_link(probe, speed, width);
        printf("{\"part\": \"copy\", \"direction\": \"%s\", \"bytes\": %llu, \"gbps_in\": %.3f, "
               "\"gbps_out\": %.3f, \"link_speed\": \"%s\", \"link_width\": \"%s\"}\n",
               direction_names[direction], (unsigned long long)bytes, best[IN], best[OUT], speed, width);
    }
    for (int i = 0; i < 2; i++) {
        MUST(cu.cuMemFreeHost(host[i]));
        MUST(cu.cuMemFree(device[i]));
    }
}

void part_bandwidth(struct probe *probe)
{
    static const uint64_t call_mib[] = {2, 8, 32, 128};
    /* A multiple of the largest call for each of two flows. */
    uint64_t bytes = probe->bytes < 512 * MIB ? probe->bytes : 512 * MIB;
    bytes &= ~(16 * MIB - 1);
    CUstream streams[2] = {stream_new(), stream_new()};
    measure_copies(probe, bytes / 4, streams);
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    move_all(probe, "de", memory, bytes, streams[0]); /* populated in blocks, not page by page */
    for (size_t size = 0; size < sizeof call_mib / sizeof *call_mib; size++)
        for (int direction = 0; direction < DIRECTIONS; direction++)
            for (int threads = 1; threads <= 2; threads++)
                for (int busy = 0; busy < 2; busy++) {
                    struct setup setup = {direction, threads, call_mib[size] * MIB, busy};
                    if (bytes / 2 % setup.call_bytes) continue;
                    measure_setup(probe, &setup, memory, bytes, streams);
                }
    MUST(cu.cuMemFree(memory));
    for (int i = 0; i < 2; i++) MUST(cu.cuStreamDestroy(streams[i]));
}
