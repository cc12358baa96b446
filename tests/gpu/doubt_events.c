/* What the flags of an event change: the processor time of a wait, how soon it ends, what a record costs, and
 * whether what was enqueued before the event is there when the wait is over. */
#include <stdlib.h>
#include <sys/resource.h>

#include "answer.h"
#include "probe.h"

enum { RECORDS = 200, ROUNDS = 100 };

static const struct {
    const char *name;
    unsigned flags;
} kinds[] = {
    {"default", CU_EVENT_DEFAULT},
    {"no timing", CU_EVENT_DISABLE_TIMING},
    {"blocking", CU_EVENT_BLOCKING_SYNC},
    {"blocking, no timing", CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING},
};

/* Of all threads: a driver may wait in one of its own. */
static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_wait(const struct probe *probe, CUstream stream, CUevent event, const char *name)
{
    launch_spin(probe, stream);
    launch_spin(probe, stream);
    MUST(cu.cuEventRecord(event, stream));
    double before = now_seconds(), used = processor_seconds();
    MUST(cu.cuEventSynchronize(event));
    double waited = now_seconds() - before;
    used = processor_seconds() - used;
    answer_number(waited * 1e3, "ms", "%s: wait", name);
    answer_number(waited > 0 ? 100 * used / waited : 0, "%", "%s: processor used by the wait", name);
}

/* A launch, a record and a wait for it, on an idle device. */
static void measure_round(const struct probe *probe, CUstream stream, CUevent event, const char *name)
{
    double seconds[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double before = now_seconds();
        launch_nothing(probe, stream);
        MUST(cu.cuEventRecord(event, stream));
        MUST(cu.cuEventSynchronize(event));
        seconds[i] = now_seconds() - before;
    }
    qsort(seconds, ROUNDS, sizeof *seconds, by_size);
    answer_number(seconds[ROUNDS / 2] * 1e6, "us", "%s: launch, record and wait", name);
    answer_number(seconds[ROUNDS * 99 / 100] * 1e6, "us", "%s: the same, 99 %% of all", name);
}

static void measure_record(const struct probe *probe, CUstream stream, CUevent event, const char *name)
{
    launch_spin(probe, stream);
    double before = now_seconds();
    for (int i = 0; i < RECORDS; i++) MUST(cu.cuEventRecord(event, stream));
    answer_number((now_seconds() - before) / RECORDS * 1e6, "us", "%s: record on a busy stream", name);
    MUST(cu.cuStreamSynchronize(stream));
}

static void check_wait(const struct probe *probe, CUstream stream, CUevent event, const char *name)
{
    uint64_t bytes = 4 * MIB;
    unsigned *copy;
    CUdeviceptr memory;
    bool right = true;
    MUST(cu.cuMemHostAlloc((void **)&copy, bytes, 0));
    MUST(cu.cuMemAlloc(&memory, bytes));
    for (unsigned round = 1; round <= 8; round++) {
        launch_fill(probe, memory, bytes, round, stream);
        MUST(cu.cuMemcpyDtoHAsync(copy, memory, bytes, stream));
        MUST(cu.cuEventRecord(event, stream));
        MUST(cu.cuEventSynchronize(event));
        right = right && words_other_than(copy, bytes, round) == 0 && cu.cuEventQuery(event) == CUDA_SUCCESS;
    }
    answer_metadata(right, "%s: all that was enqueued before is there after the wait", name);
    MUST(cu.cuMemFree(memory));
    MUST(cu.cuMemFreeHost(copy));
}

void part_events(struct probe *probe)
{
    CUstream stream = stream_new();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        CUevent event;
        MUST(cu.cuEventCreate(&event, kinds[i].flags));
        measure_wait(probe, stream, event, kinds[i].name);
        measure_round(probe, stream, event, kinds[i].name);
        measure_record(probe, stream, event, kinds[i].name);
        check_wait(probe, stream, event, kinds[i].name);
        MUST(cu.cuEventDestroy(event));
    }
    MUST(cu.cuStreamDestroy(stream));
}
