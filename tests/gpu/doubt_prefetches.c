/* How long a prefetch holds up the thread that asks for it, by direction, size and what its stream does, and
 * what another thread's launches wait for meanwhile. */
#include <pthread.h>
#include <stdatomic.h>

#include "answer.h"
#include "probe.h"

enum state { IDLE, BUSY, OTHER_BUSY, STATE_COUNT };
static const char *const state_names[STATE_COUNT] = {"idle stream", "busy stream",
                                                     "idle stream, another one busy"};
static const char *const directions[] = {"to the host", "to the device"};

static void measure_call(const struct probe *probe, CUdeviceptr memory, uint64_t bytes, bool to_device,
                         enum state state)
{
    double best_call = 0, best_all = 0;
    CUstream stream = stream_new(), other = stream_new();
    for (int i = 0; i <= probe->repeat; i++) {
        move_all(probe, to_device ? "de" : "dw", memory, bytes, stream);
        if (state != IDLE) launch_spin(probe, state == BUSY ? stream : other);
        double before = now_seconds();
        prefetch(probe, memory, bytes, to_device, stream);
        double call = now_seconds() - before;
        MUST(cu.cuStreamSynchronize(stream));
        double all = now_seconds() - before;
        MUST(cu.cuStreamSynchronize(other));
        if (i == 0 || call < best_call) best_call = call;
        if (i == 0 || all < best_all) best_all = all;
    }
    answer_number(best_call * 1e6, "us", "%s, %llu MiB, %s: call", directions[to_device],
                  (unsigned long long)(bytes / MIB), state_names[state]);
    answer_number(best_all * 1e6, "us", "%s, %llu MiB, %s: until it is done", directions[to_device],
                  (unsigned long long)(bytes / MIB), state_names[state]);
    MUST(cu.cuStreamDestroy(stream));
    MUST(cu.cuStreamDestroy(other));
}

struct caller {
    const struct probe *probe;
    CUdeviceptr memory;
    uint64_t bytes;
    bool to_device;
    double call_seconds;
    atomic_bool begun, done;
};

static void *call_prefetch(void *argument)
{
    struct caller *caller = argument;
    MUST(cu.cuCtxSetCurrent(caller->probe->context));
    CUstream stream = stream_new();
    caller->begun = true;
    double before = now_seconds();
    prefetch(caller->probe, caller->memory, caller->bytes, caller->to_device, stream);
    caller->call_seconds = now_seconds() - before;
    caller->done = true;
    MUST(cu.cuStreamSynchronize(stream));
    MUST(cu.cuStreamDestroy(stream));
    return NULL;
}

/* Launches on one stream while another thread is inside of a prefetch on an idle one. */
static void measure_beside(const struct probe *probe, CUdeviceptr memory, uint64_t bytes, bool to_device)
{
    struct caller caller = {.probe = probe, .memory = memory, .bytes = bytes, .to_device = to_device};
    double longest = 0;
    int launches = 0;
    pthread_t thread;
    CUstream stream = stream_new();
    move_all(probe, to_device ? "de" : "dw", memory, bytes, stream);
    if (pthread_create(&thread, NULL, call_prefetch, &caller)) return;
    while (!caller.begun) continue;
    while (!caller.done && launches < 500) {
        double before = now_seconds();
        launch_nothing(probe, stream);
        double seconds = now_seconds() - before;
        if (seconds > longest) longest = seconds;
        launches++;
    }
    pthread_join(thread, NULL);
    MUST(cu.cuStreamSynchronize(stream));
    MUST(cu.cuStreamDestroy(stream));
    answer_number(caller.call_seconds * 1e6, "us", "%s, %llu MiB, beside launches: call",
                  directions[to_device], (unsigned long long)(bytes / MIB));
    answer_number(longest * 1e6, "us", "%s, %llu MiB, beside it: longest of %d launches",
                  directions[to_device], (unsigned long long)(bytes / MIB), launches);
}

void part_prefetches(struct probe *probe)
{
    static const uint64_t sizes_mib[] = {2, 32, 128};
    for (size_t i = 0; i < sizeof sizes_mib / sizeof *sizes_mib; i++) {
        uint64_t bytes = sizes_mib[i] * MIB;
        if (bytes > probe->bytes) break;
        CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
        for (int to_device = 0; to_device < 2; to_device++) {
            for (enum state state = 0; state < STATE_COUNT; state++)
                measure_call(probe, memory, bytes, to_device, state);
            measure_beside(probe, memory, bytes, to_device);
        }
        MUST(cu.cuMemFree(memory));
    }
}
