/* What driver calls cost the thread that makes them: events, waits, queries, launches, advice, prefetches of
 * what is there already; and what a launch costs while another thread prefetches. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe.h"

enum { MOST_SAMPLES = 1000 };

struct samples {
    double seconds[MOST_SAMPLES];
    int count;
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(struct samples *samples, const char *call, const char *state)
{
    double sum = 0;
    int n = samples->count;
    for (int i = 0; i < n; i++) sum += samples->seconds[i];
    qsort(samples->seconds, (size_t)n, sizeof *samples->seconds, by_size);
    printf("{\"part\": \"calls\", \"call\": \"%s\", \"state\": \"%s\", \"samples\": %d, \"mean_us\": %.3f, "
           "\"median_us\": %.3f, \"p99_us\": %.3f, \"longest_us\": %.3f}\n",
           call, state, n, sum / n * 1e6, samples->seconds[n / 2] * 1e6, samples->seconds[n * 99 / 100] * 1e6,
           samples->seconds[n - 1] * 1e6);
}

/* Times `statement` `times` times after one time that does not count. */
#define MEASURE(call, state, times, statement)                                                               \
    do {                                                                                                     \
        struct samples samples_ = {.count = (times)};                                                        \
        for (int at_ = -1; at_ < samples_.count; at_++) {                                                    \
            double before_ = now_seconds();                                                                  \
            statement;                                                                                       \
            if (at_ >= 0) samples_.seconds[at_] = now_seconds() - before_;                                   \
        }                                                                                                    \
        report(&samples_, call, state);                                                                      \
    } while (0)

/* `busy`: a stream with unfinished work before the call. */
static void measure_streams(const struct probe *probe)
{
    static const char *const states[] = {"idle stream", "busy stream"};
    CUstream stream = stream_new(), other = stream_new();
    CUevent timed = event_new(), plain;
    MUST(cu.cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    for (int busy = 0; busy < 2; busy++) {
        const char *state = states[busy];
        int times = busy ? 200 : MOST_SAMPLES; /* all within one spin */
        if (busy) launch_spin(probe, stream);
        MEASURE("cuEventRecord", state, times, MUST(cu.cuEventRecord(timed, stream)));
        MEASURE("cuEventRecord, no timing", state, times, MUST(cu.cuEventRecord(plain, stream)));
        MEASURE("cuEventQuery", state, times, cu.cuEventQuery(plain));
        MEASURE("cuStreamQuery", state, times, cu.cuStreamQuery(stream));
        MEASURE("cuStreamWaitEvent", state, times, MUST(cu.cuStreamWaitEvent(other, plain, 0)));
        MEASURE("cuLaunchKernel", state, times, launch_nothing(probe, stream));
        MUST(cu.cuStreamSynchronize(stream));
        MUST(cu.cuStreamSynchronize(other));
    }
    MEASURE("cuEventSynchronize", "finished", MOST_SAMPLES, MUST(cu.cuEventSynchronize(plain)));
    MEASURE("cuStreamSynchronize", "idle stream", MOST_SAMPLES, MUST(cu.cuStreamSynchronize(stream)));
    MUST(cu.cuEventDestroy(timed));
    MUST(cu.cuEventDestroy(plain));
    MUST(cu.cuStreamDestroy(stream));
    MUST(cu.cuStreamDestroy(other));
}

static void measure_queries(const struct probe *probe)
{
    size_t offset, bytes;
    int value;
    MEASURE("cuMemGetInfo", "", MOST_SAMPLES, free_device_bytes());
    MEASURE("cuFuncGetParamInfo", "", MOST_SAMPLES,
            cu.cuFuncGetParamInfo(probe->read_all, 0, &offset, &bytes));
    MEASURE("cuEventCreate and cuEventDestroy", "", MOST_SAMPLES, MUST(cu.cuEventDestroy(event_new())));
    MEASURE("cuDeviceGetAttribute", "", MOST_SAMPLES,
            MUST(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, probe->device)));
    MEASURE("cuMemAllocManaged and cuMemFree, 2 MiB", "not populated", 100,
            MUST(cu.cuMemFree(managed_new(probe, 2 * MIB, ADVICE_NONE))));
}

/* Advice on memory that lies in one place; `busy`: while a kernel runs. */
static void measure_advice(const struct probe *probe)
{
    static const struct {
        const char *name;
        CUmem_advise advice;
        bool device;
    } advices[] = {
        {"preferred location host", CU_MEM_ADVISE_SET_PREFERRED_LOCATION, false},
        {"accessed by the device", CU_MEM_ADVISE_SET_ACCESSED_BY, true},
        {"set read mostly", CU_MEM_ADVISE_SET_READ_MOSTLY, true},
        {"unset read mostly", CU_MEM_ADVISE_UNSET_READ_MOSTLY, true},
    };
    static const struct {
        const char *name, *history;
        bool busy;
    } states[] = {{"never touched", "", false},
                  {"on the host", "hde", false},
                  {"resident", "hd", false},
                  {"resident, a kernel runs", "hd", true}};
    static const uint64_t sizes_mib[] = {2, 32};
    CUstream stream = stream_new();
    for (size_t size = 0; size < sizeof sizes_mib / sizeof *sizes_mib; size++)
        for (size_t state = 0; state < sizeof states / sizeof *states; state++) {
            uint64_t bytes = sizes_mib[size] * MIB;
            CUdeviceptr memory = managed_new(probe, bytes, ADVICE_NONE);
            move_all(probe, states[state].history, memory, bytes, stream);
            for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
                char call[96];
                snprintf(call, sizeof call, "cuMemAdvise %s, %llu MiB", advices[i].name,
                         (unsigned long long)sizes_mib[size]);
                if (states[state].busy) launch_spin(probe, stream);
                MEASURE(call, states[state].name, 20,
                        advise(probe, memory, bytes, advices[i].advice, advices[i].device));
                MUST(cu.cuStreamSynchronize(stream));
            }
            MUST(cu.cuMemFree(memory));
        }
    MUST(cu.cuStreamDestroy(stream));
}

static void measure_prefetches_of_nothing(const struct probe *probe)
{
    static const uint64_t sizes_mib[] = {2, 32};
    CUstream stream = stream_new();
    for (size_t size = 0; size < sizeof sizes_mib / sizeof *sizes_mib; size++)
        for (int to_device = 0; to_device < 2; to_device++) {
            uint64_t bytes = sizes_mib[size] * MIB;
            char call[96];
            CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
            move_all(probe, to_device ? "hd" : "hde", memory, bytes, stream);
            snprintf(call, sizeof call, "cuMemPrefetchAsync to the %s, %llu MiB",
                     to_device ? "device" : "host", (unsigned long long)sizes_mib[size]);
            MEASURE(call, "already there", 50, prefetch(probe, memory, bytes, to_device, stream));
            MUST(cu.cuStreamSynchronize(stream));
            MUST(cu.cuMemFree(memory));
        }
    MUST(cu.cuStreamDestroy(stream));
}

struct traffic {
    const struct probe *probe;
    CUdeviceptr memory;
    uint64_t bytes, call_bytes;
    atomic_bool stop;
    atomic_int rounds;
};

/* Moves its memory back and forth until it is told to stop, at least once. */
static void *make_traffic(void *argument)
{
    struct traffic *traffic = argument;
    MUST(cu.cuCtxSetCurrent(traffic->probe->context));
    CUstream stream = stream_new();
    do {
        bool to_device = traffic->rounds % 2 == 0;
        for (uint64_t at = 0; at < traffic->bytes; at += traffic->call_bytes)
            prefetch(traffic->probe, traffic->memory + at, traffic->call_bytes, to_device, stream);
        MUST(cu.cuStreamSynchronize(stream));
        traffic->rounds++;
    } while (!traffic->stop);
    MUST(cu.cuStreamDestroy(stream));
    return NULL;
}

static void measure_launches_beside_prefetches(const struct probe *probe)
{
    static const uint64_t call_mib[] = {2, 8, 32, 128};
    uint64_t bytes = probe->bytes < 256 * MIB ? 32 * MIB : 128 * MIB;
    CUstream stream = stream_new();
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    move(probe, 'h', memory, bytes, stream);
    for (size_t i = 0; i < sizeof call_mib / sizeof *call_mib && call_mib[i] * MIB <= bytes; i++) {
        struct traffic traffic = {
            .probe = probe, .memory = memory, .bytes = bytes, .call_bytes = call_mib[i] * MIB};
        pthread_t thread;
        char state[64];
        snprintf(state, sizeof state, "beside prefetches of %llu MiB", (unsigned long long)call_mib[i]);
        if (pthread_create(&thread, NULL, make_traffic, &traffic)) return;
        while (traffic.rounds < 2) launch_nothing(probe, stream); /* both directions have run once */
        MUST(cu.cuStreamSynchronize(stream));
        MEASURE("cuLaunchKernel", state, MOST_SAMPLES, launch_nothing(probe, stream));
        MEASURE("malloc and free, 16 MiB touched", state, 5, {
            char *touched = malloc(16 * MIB);
            for (uint64_t at = 0; touched && at < 16 * MIB; at += 4096) ((volatile char *)touched)[at] = 1;
            free(touched);
        });
        traffic.stop = true;
        pthread_join(thread, NULL);
        MUST(cu.cuStreamSynchronize(stream));
    }
    MUST(cu.cuMemFree(memory));
    MUST(cu.cuStreamDestroy(stream));
}

void part_calls(struct probe *probe)
{
    measure_streams(probe);
    measure_queries(probe);
    measure_advice(probe);
    measure_prefetches_of_nothing(probe);
    measure_launches_beside_prefetches(probe);
}
