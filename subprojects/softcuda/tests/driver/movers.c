/* One thread works on managed memory while two others move it back and forth and a fourth allocates: contents
 * stay right whatever happens first. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

#define REGIONS 8
#define REGION_BYTES ((size_t)2 << 20)
#define ROUNDS 10

static CUcontext context;
static CUdeviceptr memory;
static CUevent events[REGIONS];
static atomic_int finished;

static void *move(void *argument)
{
    CUmemLocation *to = argument;
    CUstream stream;
    CUevent done;
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; !atomic_load(&finished); i = (i + 1) % REGIONS) {
        OK(cuStreamWaitEvent(stream, events[i], 0));
        OK(cuMemPrefetchAsync(memory + i * REGION_BYTES, REGION_BYTES, *to, 0, stream));
        OK(cuEventRecord(done, stream));
        OK(cuEventSynchronize(done));
    }
    OK(cuEventDestroy(done));
    OK(cuStreamDestroy(stream));
    return NULL;
}

static void *allocate(void *argument)
{
    (void)argument;
    OK(cuCtxSetCurrent(context));
    for (unsigned i = 0; !atomic_load(&finished); i++) {
        CUdeviceptr device;
        OK(cuMemAlloc(&device, 1 + i % 7 * 65536));
        OK(cuMemsetD8(device, 1, 1));
        OK(cuMemFree(device));
    }
    return NULL;
}

int main(void)
{
    CUdevice device = start();
    CUmemLocation places[] = {{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                              {.type = CU_MEM_LOCATION_TYPE_HOST}};
    int managed = 0;
    OK(cuDeviceGetAttribute(&managed, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device));
    if (!managed) return 77;
    OK(cuCtxGetCurrent(&context));
    OK(cuMemAllocManaged(&memory, REGIONS * REGION_BYTES, CU_MEM_ATTACH_GLOBAL));
    for (int i = 0; i < REGIONS; i++) OK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    pthread_t threads[3];
    CHECK(!pthread_create(&threads[0], NULL, move, &places[0]));
    CHECK(!pthread_create(&threads[1], NULL, move, &places[1]));
    CHECK(!pthread_create(&threads[2], NULL, allocate, NULL));
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 1; round <= ROUNDS; round++)
        for (unsigned i = 0; i < REGIONS; i++) {
            OK(cuMemsetD32Async(memory + i * REGION_BYTES, round * 100 + i, REGION_BYTES / 4, stream));
            OK(cuEventRecord(events[i], stream));
            if (i % 3 == 0) OK(cuStreamSynchronize(stream));
        }
    OK(cuStreamSynchronize(stream));
    atomic_store(&finished, 1);
    for (int i = 0; i < 3; i++) CHECK(!pthread_join(threads[i], NULL));
    for (unsigned i = 0; i < REGIONS; i++) {
        unsigned *words = (unsigned *)(memory + i * REGION_BYTES);
        CHECK(words[0] == ROUNDS * 100 + i && words[REGION_BYTES / 4 - 1] == ROUNDS * 100 + i);
        OK(cuEventDestroy(events[i]));
    }
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(memory));
    finish(device);
    return 0;
}
