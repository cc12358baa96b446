/* How long other threads' calls are held up while a thread prefetches: launches, records, queries, advice,
 * allocations, and what takes the process's mapping lock: mmap, and the first touch of a page. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "probe.h"

enum { MOST_SAMPLES = 500, PAGE_BYTES = 4096, PAGES_BYTES = (MOST_SAMPLES + 1) * PAGE_BYTES };
static const double SECONDS_EACH = 0.2, SECONDS_MOST = 2; /* for the samples of one call; without a sample */

/* Moves its memory to and fro. Samples count while it moves the way in question. */
struct traffic {
    const struct probe *probe;
    CUdeviceptr memory;
    uint64_t bytes, call_bytes;
    bool to_device;
    atomic_bool moves, stop;
};

static void *make_traffic(void *argument)
{
    struct traffic *traffic = argument;
    MUST(cu.cuCtxSetCurrent(traffic->probe->context));
    CUstream stream = stream_new();
    while (!traffic->stop) {
        prefetch(traffic->probe, traffic->memory, traffic->bytes, !traffic->to_device, stream);
        MUST(cu.cuStreamSynchronize(stream));
        traffic->moves = true;
        for (uint64_t at = 0; at < traffic->bytes && !traffic->stop; at += traffic->call_bytes) {
            prefetch(traffic->probe, traffic->memory + at, traffic->call_bytes, traffic->to_device, stream);
            MUST(cu.cuStreamSynchronize(stream)); /* the next call finds the stream idle, and moves at once */
        }
        traffic->moves = false;
    }
    MUST(cu.cuStreamDestroy(stream));
    return NULL;
}

/* What the calls use. */
struct subject {
    const struct probe *probe;
    CUstream stream;
    CUevent event;
    CUdeviceptr managed; /* another range than the traffic's */
    char *pages;         /* fresh ones, from `next_page` on; as many as a call has samples */
    uint64_t next_page;
};

static void call_launch(struct subject *subject)
{
    launch_nothing(subject->probe, subject->stream);
}

static void call_record(struct subject *subject)
{
    MUST(cu.cuEventRecord(subject->event, subject->stream));
}

static void call_query(struct subject *subject)
{
    cu.cuEventQuery(subject->event);
}

static void call_advice(struct subject *subject)
{
    advise(subject->probe, subject->managed, 2 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, true);
}

static void call_allocate(struct subject *subject)
{
    MUST(cu.cuMemFree(managed_new(subject->probe, 2 * MIB, ADVICE_NONE)));
}

static void call_mmap(struct subject *subject)
{
    (void)subject;
    void *mapping = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping != MAP_FAILED) munmap(mapping, MIB);
}

static void call_touch(struct subject *subject)
{
    ((volatile char *)subject->pages)[subject->next_page++ * PAGE_BYTES] = 1;
}

static const struct {
    const char *name;
    void (*call)(struct subject *subject);
} calls[] = {{"launch", call_launch}, {"record", call_record},     {"query", call_query},
             {"advice", call_advice}, {"allocate", call_allocate}, {"mmap", call_mmap},
             {"touch", call_touch}};
enum { CALLS = sizeof calls / sizeof *calls };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_call(struct subject *subject, int call, const struct traffic *traffic)
{
    static double seconds[MOST_SAMPLES];
    double begun = now_seconds();
    int count = 0;
    madvise(subject->pages, PAGES_BYTES, MADV_DONTNEED);
    subject->next_page = 0;
    calls[call].call(subject); /* the first one warms up */
    while (count < MOST_SAMPLES && now_seconds() < begun + (count ? SECONDS_EACH : SECONDS_MOST)) {
        if (traffic && !traffic->moves) continue;
        double before = now_seconds();
        calls[call].call(subject);
        seconds[count++] = now_seconds() - before;
        if (count % 100 == 0)
            MUST(cu.cuStreamSynchronize(subject->stream)); /* a full queue would hold up, too */
    }
    MUST(cu.cuStreamSynchronize(subject->stream));
    if (!count) return;
    qsort(seconds, (size_t)count, sizeof *seconds, by_size);
    printf("{\"part\": \"beside\", \"call\": \"%s\", \"traffic\": \"%s\", \"call_bytes\": %llu, \"samples\": "
           "%d, "
           "\"median_us\": %.3f, \"p99_us\": %.3f, \"longest_us\": %.3f}\n",
           calls[call].name,
           !traffic             ? "none"
           : traffic->to_device ? "in"
                                : "out",
           (unsigned long long)(traffic ? traffic->call_bytes : 0), count, seconds[count / 2] * 1e6,
           seconds[count * 99 / 100] * 1e6, seconds[count - 1] * 1e6);
}

static void measure_beside(struct subject *subject, bool to_device, uint64_t call_bytes, CUdeviceptr memory,
                           uint64_t bytes)
{
    struct traffic traffic = {.probe = subject->probe,
                              .memory = memory,
                              .bytes = bytes,
                              .call_bytes = call_bytes,
                              .to_device = to_device};
    pthread_t thread;
    if (pthread_create(&thread, NULL, make_traffic, &traffic)) return;
    for (int call = 0; call < CALLS; call++) measure_call(subject, call, &traffic);
    traffic.stop = true;
    pthread_join(thread, NULL);
}

void part_beside(struct probe *probe)
{
    static const uint64_t call_mib[] = {8, 32, 2};
    uint64_t bytes = probe->bytes < 512 * MIB ? 32 * MIB : 256 * MIB;
    struct subject subject = {.probe = probe, .stream = stream_new(), .event = event_new()};
    subject.pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (subject.pages == MAP_FAILED) return;
    madvise(subject.pages, PAGES_BYTES, MADV_NOHUGEPAGE);
    subject.managed = managed_new(probe, 2 * MIB, ADVICE_HOST_ACCESSED_BY);
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    move_all(probe, "de", memory, bytes, subject.stream);
    for (int call = 0; call < CALLS; call++) measure_call(&subject, call, NULL);
    for (size_t i = 0; i < sizeof call_mib / sizeof *call_mib; i++)
        for (int to_device = 0; to_device < 2; to_device++)
            measure_beside(&subject, to_device, call_mib[i] * MIB, memory, bytes);
    MUST(cu.cuMemFree(memory));
    MUST(cu.cuMemFree(subject.managed));
    MUST(cu.cuEventDestroy(subject.event));
    MUST(cu.cuStreamDestroy(subject.stream));
    munmap(subject.pages, PAGES_BYTES);
}
