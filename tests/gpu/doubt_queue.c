/* How many launches a driver takes for a stream that does not move, and which calls of another thread wait
 * while one is held up by a full queue. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "answer.h"
#include "hold.h"
#include "probe.h"

enum { MOST_LAUNCHES = 16384 };
static const double HOLD_SECONDS = 0.4, QUIET_SECONDS = 0.03;

struct filler {
    const struct probe *probe;
    CUstream stream;
    struct hold *hold;
    atomic_int launches;
    atomic_bool done;
};

/* Launches until the stream moves again. */
static void *fill_queue(void *argument)
{
    struct filler *filler = argument;
    MUST(cu.cuCtxSetCurrent(filler->probe->context));
    while (!filler->hold->released && !filler->hold->gave_up && filler->launches < MOST_LAUNCHES) {
        launch_nothing(filler->probe, filler->stream);
        filler->launches++;
    }
    filler->done = true;
    return NULL;
}

/* True if the filler sits in a launch; false if it got through all or the hold ended. */
static bool wait_until_full(struct filler *filler)
{
    const struct timespec pause = {0, 1000000};
    double since = now_seconds();
    for (int before = -1; !filler->done && !filler->hold->gave_up; nanosleep(&pause, NULL)) {
        int now = filler->launches;
        if (now != before)
            since = now_seconds();
        else if (now_seconds() - since > QUIET_SECONDS)
            return true;
        before = now;
    }
    return false;
}

/* What the calls below work with. */
struct scene {
    const struct probe *probe;
    CUstream held, other;
    CUevent reached, ahead; /* recorded on the other stream; on the held one, behind the hold */
    CUdeviceptr memory;
    uint64_t bytes;
};

static void call_nothing(struct scene *s)
{
    (void)s;
}

static void call_mem_info(struct scene *s)
{
    (void)s, free_device_bytes();
}

static void call_query_reached(struct scene *s)
{
    cu.cuEventQuery(s->reached);
}

static void call_query_ahead(struct scene *s)
{
    cu.cuEventQuery(s->ahead);
}

static void call_stream_query(struct scene *s)
{
    cu.cuStreamQuery(s->held);
}

static void call_record(struct scene *s)
{
    MUST(cu.cuEventRecord(s->reached, s->other));
}

static void call_wait(struct scene *s)
{
    MUST(cu.cuStreamWaitEvent(s->other, s->reached, 0));
}

static void call_wait_ahead(struct scene *s)
{
    MUST(cu.cuStreamWaitEvent(s->other, s->ahead, 0));
}

static void call_launch(struct scene *s)
{
    launch_nothing(s->probe, s->other);
}

static void call_fetch(struct scene *s)
{
    prefetch(s->probe, s->memory, s->bytes, true, s->other);
}

static void call_evict(struct scene *s)
{
    prefetch(s->probe, s->memory, s->bytes, false, s->other);
}

static void call_event(struct scene *s)
{
    (void)s, MUST(cu.cuEventDestroy(event_new()));
}

static void call_synchronize(struct scene *s)
{
    MUST(cu.cuStreamSynchronize(s->other));
}

static void call_advise(struct scene *s)
{
    advise(s->probe, s->memory, s->bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, true);
}

static void call_discard(struct scene *s)
{
    move(s->probe, 'x', s->memory, s->bytes, s->other);
}

static void call_allocate(struct scene *s)
{
    CUdeviceptr memory;
    if (cu.cuMemAllocAsync && !cu.cuMemAllocAsync(&memory, 1 * MIB, s->other))
        cu.cuMemFreeAsync(memory, s->other);
}

static void call_parameters(struct scene *s)
{
    size_t offset, bytes;
    cu.cuFuncGetParamInfo(s->probe->read_all, 0, &offset, &bytes);
}

static const struct {
    const char *name;
    void (*call)(struct scene *scene);
} calls[] = {
    {"no call", call_nothing},
    {"cuMemGetInfo", call_mem_info},
    {"cuEventQuery, another stream's event", call_query_reached},
    {"cuEventQuery, this stream's event", call_query_ahead},
    {"cuStreamQuery, this stream", call_stream_query},
    {"cuEventRecord, another stream", call_record},
    {"cuStreamWaitEvent, another stream", call_wait},
    {"cuLaunchKernel, another stream", call_launch},
    {"cuMemPrefetchAsync to the device, another stream", call_fetch},
    {"cuMemPrefetchAsync to the host, another stream", call_evict},
    {"discard, another stream", call_discard},
    {"cuStreamSynchronize, another stream", call_synchronize},
    {"cuMemAllocAsync and cuMemFreeAsync, another stream", call_allocate},
    {"cuEventCreate and cuEventDestroy", call_event},
    {"cuMemAdvise", call_advise},
    {"cuFuncGetParamInfo", call_parameters},
    {"cuStreamWaitEvent, another stream for this one", call_wait_ahead},
};

/* False if the queue did not fill. */
static bool measure(struct scene *scene, size_t at)
{
    struct hold hold;
    struct filler filler = {.probe = scene->probe, .stream = scene->held, .hold = &hold};
    pthread_t thread;
    hold_begin(&hold, scene->held, HOLD_SECONDS);
    MUST(cu.cuEventRecord(scene->ahead, scene->held));
    if (pthread_create(&thread, NULL, fill_queue, &filler)) return false;
    bool full = wait_until_full(&filler);
    double before = now_seconds();
    calls[at].call(scene);
    double seconds = now_seconds() - before;
    bool gave_up = hold_end(&hold);
    pthread_join(thread, NULL);
    MUST(cu.cuStreamSynchronize(scene->held));
    MUST(cu.cuStreamSynchronize(scene->other));
    if (at == 0) {
        answer_text(full ? "yes" : "no", "a launch waits when the queue is full");
        answer_number(filler.launches, "", "launches taken before");
    } else {
        answer_text(gave_up ? "waits" : "returns", "%s", calls[at].name);
        answer_number(seconds * 1e6, "us", "%s: call", calls[at].name);
    }
    return full;
}

void part_queue(struct probe *probe)
{
    struct scene scene = {.probe = probe,
                          .held = stream_new(),
                          .other = stream_new(),
                          .reached = event_new(),
                          .ahead = event_new(),
                          .bytes = 2 * MIB};
    scene.memory = managed_new(probe, scene.bytes, ADVICE_HOST_ACCESSED_BY);
    move_all(probe, "hd", scene.memory, scene.bytes, scene.other);
    launch_nothing(probe, scene.held);
    MUST(cu.cuEventRecord(scene.reached, scene.other));
    MUST(cu.cuCtxSynchronize());
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!measure(&scene, i)) break;
    MUST(cu.cuMemFree(scene.memory));
}
