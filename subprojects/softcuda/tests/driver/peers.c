/* Only on softcuda: kernels that wait for kernels of other ranks, here in two streams of one process. Breaks
 * if such a launch runs only when its own program waits for something, if it holds up what does not depend on
 * it, or if the two do not take the same part of the simulated clock. */
#include "check.h"
#include "native.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define GROUPS 4
#define MEETING_NS 50000

/* A meeting of two launches. */
static struct group {
    pthread_mutex_t lock;
    pthread_cond_t news;
    int begun, arrived, ended;
    uint64_t ready_ns[2], busy_ns[2];
    _Atomic int done;
} groups[GROUPS];

struct meet {
    uint32_t group, rank;
};

static const struct sc_parameter meet_parameters[] = {
    {offsetof(struct meet, group), 4},
    {offsetof(struct meet, rank), 4},
};

static bool describe(struct sc_native_launch *launch)
{
    (void)launch;
    return true;
}

static void *begin(const void *parameters)
{
    struct meet *token = malloc(sizeof *token);
    memcpy(token, parameters, sizeof *token);
    return token;
}

static struct group *enter(void *token)
{
    struct group *group = &groups[((struct meet *)token)->group];
    pthread_mutex_lock(&group->lock);
    return group;
}

static void leave(struct group *group)
{
    pthread_cond_broadcast(&group->news);
    pthread_mutex_unlock(&group->lock);
}

static bool run(struct sc_native_launch *launch, void *token)
{
    (void)launch;
    struct group *group = enter(token);
    group->begun++;
    pthread_cond_broadcast(&group->news);
    while (group->begun < 2) pthread_cond_wait(&group->news, &group->lock);
    group->done++;
    leave(group);
    return true;
}

static void arrive(void *token, uint64_t ready_ns, uint64_t busy_ns)
{
    struct group *group = enter(token);
    uint32_t rank = ((struct meet *)token)->rank;
    group->ready_ns[rank] = ready_ns;
    group->busy_ns[rank] = busy_ns;
    group->arrived++;
    leave(group);
}

static uint64_t later(const uint64_t *ns)
{
    return ns[0] > ns[1] ? ns[0] : ns[1];
}

static enum sc_meeting meet(void *token, unsigned patience_ms, uint64_t *start_ns, uint64_t *end_ns)
{
    (void)patience_ms;
    struct group *group = enter(token);
    bool met = group->arrived == 2;
    if (met) {
        *start_ns = later(group->ready_ns);
        *end_ns = *start_ns + MEETING_NS + later(group->busy_ns);
    }
    leave(group);
    return met ? SC_MET : SC_MEETING_HERE;
}

static void end(void *token)
{
    struct group *group = enter(token);
    group->ended++;
    leave(group);
    free(token);
}

static const struct sc_native_peers peers = {begin, run, arrive, meet, end};
static const struct sc_native_kernel kernel_list[] = {
    {"meet", meet_parameters, 2, sizeof(struct meet), describe, NULL, &peers},
};
static const struct sc_native_image image = {SC_NATIVE_MAGIC, kernel_list, 1};

static CUfunction function;
static CUstream streams[3];

static void launch(uint32_t group, uint32_t rank, CUstream stream)
{
    void *parameters[] = {&group, &rank};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

/* The program waits for memory alone, as ranks wait for a message of their peers'. */
static void goes_on_without_a_wait(void)
{
    launch(0, 0, streams[0]);
    launch(0, 1, streams[1]);
    while (groups[0].done < 2) sched_yield();
    OK(cuCtxSynchronize());
}

/* The second rank's launch waits for a copy. Both begin when it ends, and end at the same time. */
static void times_meet(CUdeviceptr memory, void *host, size_t bytes)
{
    CUevent ready, ends[2];
    OK(cuEventCreate(&ready, CU_EVENT_DEFAULT));
    for (int i = 0; i < 2; i++) OK(cuEventCreate(&ends[i], CU_EVENT_DEFAULT));
    launch(1, 0, streams[0]);
    OK(cuEventRecord(ends[0], streams[0]));
    OK(cuMemcpyHtoDAsync(memory, host, bytes, streams[1]));
    OK(cuEventRecord(ready, streams[1]));
    launch(1, 1, streams[1]);
    OK(cuEventRecord(ends[1], streams[1]));
    OK(cuCtxSynchronize());
    float apart_ms, meeting_ms;
    OK(cuEventElapsedTime(&apart_ms, ends[0], ends[1]));
    OK(cuEventElapsedTime(&meeting_ms, ready, ends[0]));
    CHECK(apart_ms == 0);
    CHECK(meeting_ms >= MEETING_NS * 1e-6f && meeting_ms < 2 * MEETING_NS * 1e-6f);
}

/* While one rank waits for the other, work of other streams is done, and waited for. */
static void others_go_on(CUdeviceptr memory, void *host, size_t bytes)
{
    launch(2, 0, streams[0]);
    OK(cuMemcpyHtoDAsync(memory, host, bytes, streams[2]));
    OK(cuStreamSynchronize(streams[2]));
    CHECK(cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY);
    CHECK(groups[2].done == 0);
    launch(2, 1, streams[1]);
    OK(cuStreamSynchronize(streams[0]));
    CHECK(groups[2].done == 2);
}

/* Tokens end once, when their launches are timed. */
static void tokens_end(void)
{
    OK(cuCtxSynchronize());
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&groups[i].lock);
        while (groups[i].ended < 2) pthread_cond_wait(&groups[i].news, &groups[i].lock);
        CHECK(groups[i].ended == 2 && groups[i].arrived == 2);
        pthread_mutex_unlock(&groups[i].lock);
    }
}

int main(void)
{
    CUdevice device = start();
    only_in_software(device);
    for (int i = 0; i < GROUPS; i++) {
        pthread_mutex_init(&groups[i].lock, NULL);
        pthread_cond_init(&groups[i].news, NULL);
    }
    CUuuid id = {.bytes = SC_NATIVE_TABLE_ID};
    const void *found;
    OK(cuGetExportTable(&found, &id));
    CHECK(((const struct sc_native_table *)found)->trust(&image));
    CHECK(((const struct sc_native_table *)found)->peer_bytes_per_ns > 0);
    CUmodule module;
    OK(cuModuleLoadData(&module, &image));
    OK(cuModuleGetFunction(&function, module, "meet"));
    for (int i = 0; i < 3; i++) OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));

    size_t bytes = 1 << 20;
    CUdeviceptr memory;
    void *host;
    OK(cuMemAlloc(&memory, bytes));
    OK(cuMemAllocHost(&host, bytes));
    goes_on_without_a_wait();
    times_meet(memory, host, bytes);
    others_go_on(memory, host, bytes);
    tokens_end();
    return 0;
}
