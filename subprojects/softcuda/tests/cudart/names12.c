/* libcudart.so.12 as programs of CUDA 12 use it: every function under the name and with the parameters it had
 * there. It is opened by name, because there are no headers of CUDA 12 here; the declarations below are
 * theirs. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition);                         \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* What has another form in CUDA 13, or is gone. */
static const char *const names[] = {
    "cudaEventElapsedTime",
    "cudaEventElapsedTime_v2",
    "cudaGetDeviceProperties",
    "cudaGetDeviceProperties_v2",
    "cudaGraphAddDependencies",
    "cudaGraphAddDependencies_v2",
    "cudaGraphAddNode",
    "cudaGraphAddNode_v2",
    "cudaGraphGetEdges",
    "cudaGraphGetEdges_v2",
    "cudaGraphNodeGetDependencies",
    "cudaGraphNodeGetDependencies_v2",
    "cudaGraphNodeGetDependentNodes",
    "cudaGraphNodeGetDependentNodes_v2",
    "cudaGraphRemoveDependencies",
    "cudaGraphRemoveDependencies_v2",
    "cudaLaunchCooperativeKernelMultiDevice",
    "cudaMemAdvise",
    "cudaMemAdvise_v2",
    "cudaMemPrefetchAsync",
    "cudaMemPrefetchAsync_ptsz",
    "cudaMemPrefetchAsync_v2",
    "cudaMemPrefetchAsync_v2_ptsz",
    "cudaMemcpy3DBatchAsync",
    "cudaMemcpy3DBatchAsync_ptsz",
    "cudaMemcpyBatchAsync",
    "cudaMemcpyBatchAsync_ptsz",
    "cudaPointerGetAttributes",
    "cudaSetDoubleForDevice",
    "cudaSetDoubleForHost",
    "cudaSignalExternalSemaphoresAsync",
    "cudaSignalExternalSemaphoresAsync_ptsz",
    "cudaSignalExternalSemaphoresAsync_v2",
    "cudaSignalExternalSemaphoresAsync_v2_ptsz",
    "cudaStreamGetCaptureInfo",
    "cudaStreamGetCaptureInfo_ptsz",
    "cudaStreamGetCaptureInfo_v2",
    "cudaStreamGetCaptureInfo_v2_ptsz",
    "cudaStreamGetCaptureInfo_v3",
    "cudaStreamGetCaptureInfo_v3_ptsz",
    "cudaStreamUpdateCaptureDependencies",
    "cudaStreamUpdateCaptureDependencies_ptsz",
    "cudaStreamUpdateCaptureDependencies_v2",
    "cudaStreamUpdateCaptureDependencies_v2_ptsz",
    "cudaThreadExit",
    "cudaThreadGetCacheConfig",
    "cudaThreadGetLimit",
    "cudaThreadSetCacheConfig",
    "cudaThreadSetLimit",
    "cudaThreadSynchronize",
    "cudaWaitExternalSemaphoresAsync",
    "cudaWaitExternalSemaphoresAsync_ptsz",
    "cudaWaitExternalSemaphoresAsync_v2",
    "cudaWaitExternalSemaphoresAsync_v2_ptsz",
    /* Registration, which programs do before main. */
    "__cudaRegisterFatBinary",
    "__cudaRegisterFatBinaryEnd",
    "__cudaUnregisterFatBinary",
    "__cudaRegisterFunction",
    "__cudaRegisterVar",
    "__cudaRegisterManagedVar",
    "__cudaInitModule",
    "__cudaPushCallConfiguration",
    "__cudaPopCallConfiguration",
};

static void *library;

static void *find(const char *name)
{
    void *found = dlvsym(library, name, "libcudart.so.12");
    if (found) return found;
    fprintf(stderr, "not exported: %s\n", name);
    exit(1);
}

/* Calls `name` as a function of the given parameters. */
#define CALL(name, parameters, ...) ((int(*) parameters)find(#name))(__VA_ARGS__)

struct location {
    int type, id;
};

static void properties(void)
{
    struct {
        char name[256];
        char unique[16 + 8];
        unsigned mask;
        size_t total, shared;
        int registers, warp;
        size_t pitch;
        int threads, block[3], grid[3], clock;
        size_t constant;
        int major, minor;
        size_t texture, texture_pitch;
        int overlap, processors;
        char rest[1032 - 408 + 8];
        unsigned char guard[64];
    } got;
    int major = 0, processors = 0, clock = 0;
    memset(&got, 0xee, sizeof got);
    CHECK(CALL(cudaGetDeviceProperties_v2, (void *, int), &got, 0) == 0);
    for (size_t i = 1032; i < sizeof got; i++) CHECK(((unsigned char *)&got)[i] == 0xee);
    CHECK(CALL(cudaDeviceGetAttribute, (int *, int, int), &major, 75, 0) == 0);
    CHECK(CALL(cudaDeviceGetAttribute, (int *, int, int), &processors, 16, 0) == 0);
    CHECK(CALL(cudaDeviceGetAttribute, (int *, int, int), &clock, 13, 0) == 0);
    CHECK(got.warp == 32 && got.threads == 1024 && got.total > 0);
    CHECK(got.major == major && got.processors == processors && got.clock == clock);
}

static void memory(void)
{
    char *managed = NULL;
    int number = -7;
    CHECK(CALL(cudaMallocManaged, (void **, size_t, unsigned), (void **)&managed, 1 << 21, 1) == 0);
    struct {
        int type, device;
        void *on_device, *on_host;
        unsigned char guard[64];
    } attributes;
    memset(&attributes, 0xee, sizeof attributes);
    CHECK(CALL(cudaPointerGetAttributes, (void *, const void *), &attributes, managed) == 0);
    CHECK(attributes.type == 3 && attributes.device == 0 && attributes.on_device == managed);
    for (size_t i = 0; i < sizeof attributes.guard; i++) CHECK(attributes.guard[i] == 0xee);
    CHECK(CALL(cudaDeviceGetAttribute, (int *, int, int), &number, 89, 0) == 0);
    if (number) {
        /* The place is a device, -1 for the host. */
        CHECK(CALL(cudaMemAdvise, (const void *, size_t, int, int), managed, 1 << 21, 3, -1) == 0);
        CHECK(CALL(cudaMemRangeGetAttribute, (void *, size_t, int, const void *, size_t), &number, 4, 2,
                   managed, 1 << 21) == 0);
        CHECK(number == -1);
        struct location here = {1, 0};
        CHECK(CALL(cudaMemAdvise_v2, (const void *, size_t, int, struct location), managed, 1 << 21, 3,
                   here) == 0);
        CHECK(CALL(cudaMemRangeGetAttribute, (void *, size_t, int, const void *, size_t), &number, 4, 2,
                   managed, 1 << 21) == 0);
        CHECK(number == 0);
        CHECK(CALL(cudaMemPrefetchAsync, (const void *, size_t, int, void *), managed, 1 << 21, 0, NULL) ==
              0);
        CHECK(CALL(cudaMemPrefetchAsync, (const void *, size_t, int, void *), managed, 1 << 21, -1, NULL) ==
              0);
        CHECK(CALL(cudaMemPrefetchAsync, (const void *, size_t, int, void *), managed, 1 << 21, 99, NULL) !=
              0);
        CHECK(CALL(cudaGetLastError, (void)) != 0);
    }
    CHECK(CALL(cudaThreadSynchronize, (void)) == 0);
    CHECK(CALL(cudaFree, (void *), managed) == 0);
}

static void capture(void)
{
    void *stream = NULL, *graph = NULL, *of_capture = NULL;
    int status = -1;
    unsigned long long id = 0;
    size_t count = 99;
    const void *nodes = NULL;
    void *device = NULL;
    CHECK(CALL(cudaStreamCreate, (void **), &stream) == 0);
    CHECK(CALL(cudaMalloc, (void **, size_t), &device, 1024) == 0);
    CHECK(CALL(cudaStreamGetCaptureInfo, (void *, int *, unsigned long long *), stream, &status, &id) == 0);
    CHECK(status == 0);
    CHECK(CALL(cudaStreamBeginCapture, (void *, int), stream, 0) == 0);
    CHECK(CALL(cudaMemsetAsync, (void *, int, size_t, void *), device, 0, 1024, stream) == 0);
    CHECK(CALL(cudaMemsetAsync, (void *, int, size_t, void *), device, 1, 1024, stream) == 0);
    CHECK(CALL(cudaStreamGetCaptureInfo_v2,
               (void *, int *, unsigned long long *, void **, const void **, size_t *), stream, &status, &id,
               &of_capture, &nodes, &count) == 0);
    CHECK(status == 1 && id && of_capture && count == 1);
    CHECK(CALL(cudaStreamEndCapture, (void *, void **), stream, &graph) == 0);
    count = 0;
    CHECK(CALL(cudaGraphGetEdges, (void *, void *, void *, size_t *), graph, NULL, NULL, &count) == 0);
    CHECK(count == 1);
    void *from = NULL, *to = NULL;
    CHECK(CALL(cudaGraphGetEdges, (void *, void **, void **, size_t *), graph, &from, &to, &count) == 0);
    CHECK(from && to && from != to);
    count = 1;
    void *before = NULL;
    CHECK(CALL(cudaGraphNodeGetDependencies, (void *, void **, size_t *), to, &before, &count) == 0);
    CHECK(count == 1 && before == from);
    CHECK(CALL(cudaGraphRemoveDependencies, (void *, void **, void **, size_t), graph, &from, &to, 1) == 0);
    CHECK(CALL(cudaGraphAddDependencies, (void *, void **, void **, size_t), graph, &from, &to, 1) == 0);
    CHECK(CALL(cudaGraphDestroy, (void *), graph) == 0);
    CHECK(CALL(cudaFree, (void *), device) == 0);
    CHECK(CALL(cudaStreamDestroy, (void *), stream) == 0);
}

/* Where the driver has an older form only that serves; what it lacks altogether is said. */
static void of_older_drivers(void)
{
    enum { CALL_REQUIRES_NEWER_DRIVER = 36 };
    int driver = 0, status = -1;
    float time = -1;
    void *events[2], *stream = NULL;
    unsigned long long id;
    size_t count;
    const void *nodes, *edges;
    CHECK(CALL(cudaDriverGetVersion, (int *), &driver) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(CALL(cudaEventCreate, (void **), &events[i]) == 0);
        CHECK(CALL(cudaEventRecord, (void *, void *), events[i], NULL) == 0);
    }
    CHECK(CALL(cudaEventSynchronize, (void *), events[1]) == 0);
    CHECK(CALL(cudaEventElapsedTime, (float *, void *, void *), &time, events[0], events[1]) == 0);
    CHECK(time >= 0);
    for (int i = 0; i < 2; i++) CHECK(CALL(cudaEventDestroy, (void *), events[i]) == 0);
    CHECK(CALL(cudaStreamCreate, (void **), &stream) == 0);
    CHECK(CALL(cudaStreamGetCaptureInfo_v3,
               (void *, int *, unsigned long long *, void **, const void **, const void **, size_t *), stream,
               &status, &id, NULL, &nodes, &edges,
               &count) == (driver < 12030 ? CALL_REQUIRES_NEWER_DRIVER : 0));
    CHECK(CALL(cudaGetLastError, (void)) == (driver < 12030 ? CALL_REQUIRES_NEWER_DRIVER : 0));
    CHECK(CALL(cudaStreamDestroy, (void *), stream) == 0);

    /* A runtime of NVIDIA's asks for such tables; names12.sh sees that this one is not taken for it. */
    static const unsigned char table_id[16] = {1};
    const void *table;
    CHECK(CALL(cudaGetExportTable, (const void **, const void *), &table, table_id) != 0);
    CHECK(CALL(cudaGetLastError, (void)) != 0);
}

int main(void)
{
    int count = 0, version = 0;
    library = dlopen("libcudart.so.12", RTLD_NOW);
    if (!library || CALL(cudaGetDeviceCount, (int *), &count) || !count) {
        fprintf(stderr, "no libcudart.so.12 or no device\n");
        return 77;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) find(names[i]);
    CHECK(CALL(cudaRuntimeGetVersion, (int *), &version) == 0);
    CHECK(version / 1000 == 12);
    properties();
    memory();
    capture();
    of_older_drivers();
    CHECK(CALL(cudaThreadExit, (void)) == 0);
    return 0;
}
