/* How prefetches scale: by the number of threads, each with a stream of its own, on one managed range and on
 * a range for each thread, by the size of a call, on streams that are idle or wait for an event, which is
 * done or is not; one direction alone and both. Time (clock.h) from the first call until the last byte has
 * moved. */
#include <pthread.h>
#include <stdio.h>

#include "clock.h"
#include "probe.h"

enum { MOST_THREADS = 8 };

/* `idle`: each call finds an idle stream, because its thread waits for the call before. `queued`: calls
 * follow each other without waiting. `wait done`: as `idle`, behind a cuStreamWaitEvent for an event that has
 * long been done. `wait pending`: queued, behind a wait for a kernel that still runs. */
enum state { IDLE, QUEUED, WAIT_DONE, WAIT_PENDING, STATES };
static const char *const state_names[STATES] = {"idle", "queued", "wait done", "wait pending"};

enum direction { IN, OUT, BOTH };
static const char *const direction_names[] = {"in", "out", "both"};

struct setup {
    enum direction direction; /* BOTH: half of the threads each */
    int threads;
    uint64_t call_bytes;
    bool several; /* ranges; otherwise the threads share one */
    enum state state;
    const char *sweep; /* what is varied */
};

/* Twice the same amount of managed memory; a thread moves as much of it in either, however many there are. */
struct ranges {
    CUdeviceptr one, several[MOST_THREADS];
    uint64_t bytes_each;
};

struct worker {
    const struct probe *probe;
    const struct setup *setup;
    CUdeviceptr base;
    uint64_t bytes;
    bool to_device;
    CUstream stream;
    CUevent before, end;
    pthread_barrier_t *start;
    struct turns *turns;
    int index;
    double begun, finished, call_seconds, longest_call_seconds;
};

static void *issue(void *argument)
{
    struct worker *worker = argument;
    enum state state = worker->setup->state;
    uint64_t step = worker->setup->call_bytes;
    struct clock clock;
    MUST(cu.cuCtxSetCurrent(worker->probe->context));
    clock_begin(&clock, worker->probe);
    pthread_barrier_wait(worker->start);
    worker->begun = clock_seconds(&clock);
    for (uint64_t at = 0; at < worker->bytes; at += step) {
        double before = clock_seconds(&clock);
        if (worker->probe->origin) turns_take(worker->turns, worker->index, before);
        if (state == WAIT_DONE || (state == WAIT_PENDING && at == 0))
            MUST(cu.cuStreamWaitEvent(worker->stream, worker->before, 0));
        prefetch(worker->probe, worker->base + at, step, worker->to_device, worker->stream);
        double seconds = clock_seconds(&clock) - before;
        worker->call_seconds += seconds;
        if (seconds > worker->longest_call_seconds) worker->longest_call_seconds = seconds;
        if (state == IDLE || state == WAIT_DONE) MUST(cu.cuStreamSynchronize(worker->stream));
    }
    MUST(cu.cuEventRecord(worker->end, worker->stream));
    MUST(cu.cuEventSynchronize(worker->end));
    worker->finished = clock_seconds(&clock);
    turns_leave(worker->turns, worker->index);
    clock_end(&clock);
    return NULL;
}

struct result {
    double gbps[2], call_seconds, longest_call_seconds;
};

/* Of `wait pending` the time counts from the end of the kernel. */
static struct result summarise(const struct worker *workers, const struct setup *setup, CUevent released)
{
    struct result result = {0};
    double bytes[2] = {0}, begun = workers[0].begun, last[2] = {0}, calls = 0;
    for (int i = 1; i < setup->threads; i++)
        if (workers[i].begun < begun) begun = workers[i].begun;
    for (int i = 0; i < setup->threads; i++) {
        const struct worker *worker = &workers[i];
        int way = worker->to_device ? IN : OUT;
        double seconds = worker->finished - begun;
        if (setup->state == WAIT_PENDING) seconds = elapsed_seconds(released, worker->end);
        bytes[way] += (double)worker->bytes;
        if (seconds > last[way]) last[way] = seconds;
        calls += (double)(worker->bytes / setup->call_bytes);
        result.call_seconds += worker->call_seconds;
        if (worker->longest_call_seconds > result.longest_call_seconds)
            result.longest_call_seconds = worker->longest_call_seconds;
    }
    for (int way = 0; way < 2; way++)
        if (last[way] > 0) result.gbps[way] = bytes[way] / last[way] * 1e-9;
    result.call_seconds /= calls;
    return result;
}

/* Each thread's memory, moved to where it comes from. */
static void make_workers(struct worker *workers, const struct probe *probe, const struct setup *setup,
                         const struct ranges *ranges, const CUstream *streams, pthread_barrier_t *start,
                         struct turns *turns)
{
    for (int i = 0; i < setup->threads; i++) {
        CUdeviceptr part = ranges->one + (uint64_t)i * ranges->bytes_each;
        workers[i] =
            (struct worker){.probe = probe,
                            .setup = setup,
                            .base = setup->several ? ranges->several[i] : part,
                            .bytes = ranges->bytes_each / setup->call_bytes * setup->call_bytes,
                            .to_device = setup->direction == BOTH ? i % 2 == 0 : setup->direction == IN,
                            .stream = streams[i],
                            .before = event_new(),
                            .end = event_new(),
                            .start = start,
                            .turns = turns,
                            .index = i};
        MUST(cu.cuEventRecord(workers[i].before, streams[i]));
        prefetch(probe, workers[i].base, workers[i].bytes, !workers[i].to_device, streams[i]);
        MUST(cu.cuStreamSynchronize(streams[i]));
    }
}

static struct result measure(const struct probe *probe, const struct setup *setup,
                             const struct ranges *ranges, const CUstream *streams)
{
    struct worker workers[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    pthread_barrier_t start;
    struct turns turns;
    CUstream gate = stream_new();
    CUevent released = event_new();
    pthread_barrier_init(&start, NULL, (unsigned)setup->threads + 1);
    turns_begin(&turns, setup->threads);
    make_workers(workers, probe, setup, ranges, streams, &start, &turns);
    for (int i = 0; i < setup->threads; i++) pthread_create(&threads[i], NULL, issue, &workers[i]);
    if (setup->state == WAIT_PENDING) {
        launch_spin(probe, gate);
        MUST(cu.cuEventRecord(released, gate));
        for (int i = 0; i < setup->threads; i++) MUST(cu.cuEventRecord(workers[i].before, gate));
    }
    pthread_barrier_wait(&start);
    for (int i = 0; i < setup->threads; i++) pthread_join(threads[i], NULL);
    MUST(cu.cuCtxSynchronize()); /* a simulated clock does not know that this thread has waited */
    struct result result = summarise(workers, setup, released);
    for (int i = 0; i < setup->threads; i++) {
        MUST(cu.cuEventDestroy(workers[i].before));
        MUST(cu.cuEventDestroy(workers[i].end));
    }
    MUST(cu.cuEventDestroy(released));
    MUST(cu.cuStreamDestroy(gate));
    turns_end(&turns);
    pthread_barrier_destroy(&start);
    return result;
}

static void print_result(const struct setup *setup, const char *state, const struct result *result)
{
    printf(
        "{\"part\": \"scaling\", \"sweep\": \"%s\", \"direction\": \"%s\", \"threads\": %d, \"slabs\": "
        "\"%s\", "
        "\"state\": \"%s\", \"call_bytes\": %llu, \"gbps_in\": %.3f, \"gbps_out\": %.3f, \"call_us\": %.2f, "
        "\"longest_call_us\": %.2f}\n",
        setup->sweep, direction_names[setup->direction], setup->threads, setup->several ? "several" : "one",
        state, (unsigned long long)setup->call_bytes, result->gbps[IN], result->gbps[OUT],
        result->call_seconds * 1e6, result->longest_call_seconds * 1e6);
}

/* Nothing, if a thread's memory is smaller than a call. */
static void measure_setup(const struct probe *probe, struct setup setup, const struct ranges *ranges,
                          const CUstream *streams)
{
    struct result best = {0};
    if (setup.call_bytes > ranges->bytes_each) return;
    for (int i = 0; i < probe->repeat; i++) {
        struct result result = measure(probe, &setup, ranges, streams);
        if (result.gbps[IN] + result.gbps[OUT] > best.gbps[IN] + best.gbps[OUT]) best = result;
    }
    print_result(&setup, state_names[setup.state], &best);
}

/* As sluice moves: one thread; room is made on one stream, and what comes waits for that on another. */
static void measure_ours(const struct probe *probe, uint64_t call_bytes, const struct ranges *ranges,
                         const CUstream *streams)
{
    struct setup setup = {BOTH, 1, call_bytes, false, QUEUED, "both"};
    struct result best = {0};
    CUevent used = event_new(), made_room = event_new();
    struct clock clock;
    uint64_t half = ranges->bytes_each * MOST_THREADS / 2;
    if (half < call_bytes) return;
    clock_begin(&clock, probe);
    for (int i = 0; i < probe->repeat; i++) {
        struct result result = {0};
        prefetch(probe, ranges->one, half, true, streams[OUT]);
        prefetch(probe, ranges->one + half, half, false, streams[IN]);
        MUST(cu.cuEventRecord(used, streams[IN]));
        MUST(cu.cuStreamSynchronize(streams[OUT]));
        MUST(cu.cuStreamSynchronize(streams[IN]));
        double begun = clock_seconds(&clock), calls = 0;
        for (uint64_t at = 0; at + call_bytes <= half; at += call_bytes, calls += 2) {
            double before = clock_seconds(&clock);
            MUST(cu.cuStreamWaitEvent(streams[OUT], used, 0));
            prefetch(probe, ranges->one + at, call_bytes, false, streams[OUT]);
            MUST(cu.cuEventRecord(made_room, streams[OUT]));
            double between = clock_seconds(&clock);
            MUST(cu.cuStreamWaitEvent(streams[IN], made_room, 0));
            prefetch(probe, ranges->one + half + at, call_bytes, true, streams[IN]);
            double after = clock_seconds(&clock), longest = after - between;
            if (between - before > longest) longest = between - before;
            result.call_seconds += after - before;
            if (longest > result.longest_call_seconds) result.longest_call_seconds = longest;
        }
        MUST(cu.cuStreamSynchronize(streams[OUT]));
        MUST(cu.cuStreamSynchronize(streams[IN]));
        double seconds = clock_seconds(&clock) - begun, bytes = (double)(half / call_bytes * call_bytes);
        result.gbps[IN] = result.gbps[OUT] = bytes / seconds * 1e-9;
        result.call_seconds /= calls;
        if (result.gbps[IN] > best.gbps[IN]) best = result;
    }
    print_result(&setup, "ours", &best);
    clock_end(&clock);
    MUST(cu.cuEventDestroy(used));
    MUST(cu.cuEventDestroy(made_room));
}

static const int thread_counts[] = {1, 2, 4, 8};
enum { THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

static void sweep_threads(const struct probe *probe, enum state state, bool several, uint64_t call_bytes,
                          const struct ranges *ranges, const CUstream *streams)
{
    for (enum direction direction = BOTH; (int)direction-- > 0;) /* out first */
        for (int i = several ? 0 : 1; i < THREAD_COUNTS; i++)    /* one thread has one range in either case */
            measure_setup(probe,
                          (struct setup){direction, thread_counts[i], call_bytes, several, state, "threads"},
                          ranges, streams);
}

static void sweep_both(const struct probe *probe, uint64_t call_bytes, const struct ranges *ranges,
                       const CUstream *streams)
{
    static const enum state states[] = {IDLE, WAIT_DONE};
    measure_ours(probe, call_bytes, ranges, streams);
    for (size_t state = 0; state < sizeof states / sizeof *states; state++)
        for (int i = 1; i < THREAD_COUNTS; i++)
            measure_setup(probe,
                          (struct setup){BOTH, thread_counts[i], call_bytes, true, states[state], "both"},
                          ranges, streams);
}

static void sweep_pieces(const struct probe *probe, int threads, const struct ranges *ranges,
                         const CUstream *streams)
{
    for (enum direction direction = BOTH; (int)direction-- > 0;)
        for (uint64_t call_bytes = 2 * MIB; call_bytes <= 64 * MIB; call_bytes *= 2)
            measure_setup(probe, (struct setup){direction, threads, call_bytes, true, IDLE, "pieces"}, ranges,
                          streams);
}

/* What decides most comes first: the part's time may end before. */
void part_scaling(struct probe *probe)
{
    uint64_t bytes = probe->bytes < 2 * GIB ? probe->bytes / 2 : GIB;
    uint64_t range = bytes / MOST_THREADS & ~(2 * MIB - 1), piece = range < 16 * MIB ? 2 * MIB : 8 * MIB;
    struct ranges ranges = {.bytes_each = range};
    CUstream streams[MOST_THREADS];
    /* Populated on the device, and by evictions on the host, as sluice's memory is: in blocks, not page by
     * page. */
    ranges.one = managed_new(probe, range * MOST_THREADS, ADVICE_HOST_ACCESSED_BY);
    for (int i = 0; i < MOST_THREADS; i++) {
        streams[i] = stream_new();
        ranges.several[i] = managed_new(probe, range, ADVICE_HOST_ACCESSED_BY);
        move_all(probe, "de", ranges.several[i], range, streams[i]);
    }
    move_all(probe, "de", ranges.one, range * MOST_THREADS, streams[0]);
    sweep_threads(probe, IDLE, true, piece, &ranges, streams);
    sweep_both(probe, piece, &ranges, streams);
    sweep_threads(probe, WAIT_DONE, true, piece, &ranges, streams);
    sweep_threads(probe, IDLE, false, piece, &ranges, streams);
    sweep_pieces(probe, 4, &ranges, streams);
    sweep_threads(probe, WAIT_PENDING, true, piece, &ranges, streams);
    sweep_threads(probe, QUEUED, true, piece, &ranges, streams);
    sweep_pieces(probe, 1, &ranges, streams);
    if (piece < range) sweep_both(probe, range < 32 * MIB ? range : 32 * MIB, &ranges, streams);
    MUST(cu.cuMemFree(ranges.one));
    for (int i = 0; i < MOST_THREADS; i++) {
        MUST(cu.cuMemFree(ranges.several[i]));
        MUST(cu.cuStreamDestroy(streams[i]));
    }
}
