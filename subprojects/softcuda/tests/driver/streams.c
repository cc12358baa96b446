/* What the rules of streams and events promise holds in every order of execution. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

static CUdeviceptr cell;
static int *host;

static void expect(int wanted)
{
    int value = -1;
    OK(cuMemcpyDtoH(&value, cell, sizeof value));
    CHECK(value == wanted);
}

/* Work on the legacy stream comes after that of blocking streams before it, and before that after it. */
static void legacy_barrier(void)
{
    CUstream a, b;
    OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
    OK(cuMemsetD32Async(cell, 1, 1, a));
    OK(cuMemsetD32Async(cell, 2, 1, NULL));
    OK(cuMemsetD32Async(cell, 3, 1, b));
    OK(cuStreamSynchronize(b));
    expect(3);
    OK(cuMemsetD32Async(cell, 4, 1, a));
    OK(cuStreamDestroy(a)); /* its work still counts */
    OK(cuMemsetD32Async(cell, 5, 1, NULL));
    expect(5);
    OK(cuStreamDestroy(b));
}

/* An event stands for the moment of its last record at the time of the wait. */
static void event_moment(void)
{
    CUstream a, b;
    CUevent event, never;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&never, CU_EVENT_DEFAULT));
    OK(cuStreamWaitEvent(a, never, 0));
    OK(cuEventQuery(never));
    OK(cuEventSynchronize(never));
    OK(cuMemsetD32Async(cell, 10, 1, a));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuEventRecord(event, b)); /* does not move the wait */
    OK(cuMemcpyDtoHAsync(host, cell, sizeof *host, b));
    OK(cuStreamSynchronize(b));
    CHECK(*host == 10);
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuMemsetD32Async(cell, 11, 1, a));
    OK(cuEventRecord(event, a));
    OK(cuEventDestroy(event)); /* what was recorded stays */
    OK(cuStreamSynchronize(a));
    expect(11);
    OK(cuEventDestroy(never));
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
}

static void CUDA_CB append(void *data)
{
    int *list = data;
    list[++list[0]] = host[0];
    FAILS(cuStreamSynchronize(NULL), CUDA_ERROR_NOT_PERMITTED);
}

static void host_functions(void)
{
    static int list[4];
    CUstream a;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    for (int i = 1; i <= 3; i++) {
        OK(cuMemsetD32Async(cell, (unsigned)i * 100, 1, a));
        OK(cuMemcpyDtoHAsync(host, cell, sizeof *host, a));
        OK(cuLaunchHostFunc(a, append, list));
    }
    OK(cuStreamSynchronize(a));
    CHECK(list[0] == 3 && list[1] == 100 && list[2] == 200 && list[3] == 300);
    OK(cuStreamDestroy(a));
}

struct held {
    _Atomic bool begun, released;
};

static void CUDA_CB wait_for_release(void *held)
{
    ((struct held *)held)->begun = true;
    while (!((struct held *)held)->released) sched_yield();
}

/* A host function that waits for this very thread, which meanwhile submits, asks, waits and measures; and
 * others that begin while it waits. */
static void a_host_function_that_waits(void)
{
    static int list[4];
    struct held held = {0};
    CUstream a, b;
    CUevent behind, start_event, end_event;
    float milliseconds = -1;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&behind, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&start_event, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end_event, CU_EVENT_DEFAULT));
    OK(cuLaunchHostFunc(a, wait_for_release, &held));
    OK(cuMemsetD32Async(cell, 31, 1, a));
    OK(cuEventRecord(behind, a));
    for (int i = 1; i <= 3; i++) {
        OK(cuEventRecord(start_event, b));
        OK(cuMemcpyHtoDAsync(cell + 8, &(int){i}, sizeof i, b));
        OK(cuMemcpyDtoHAsync(host, cell + 8, sizeof *host, b));
        OK(cuLaunchHostFunc(b, append, list));
        OK(cuEventRecord(end_event, b));
        FAILS(cuEventQuery(behind), CUDA_ERROR_NOT_READY);
        OK(cuStreamSynchronize(b));
        FAILS(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
        OK(cuEventElapsedTime(&milliseconds, start_event, end_event));
        CHECK(milliseconds >= 0 && milliseconds < 100);
        FAILS(cuEventElapsedTime(&milliseconds, start_event, behind), CUDA_ERROR_NOT_READY);
    }
    CHECK(list[0] == 3 && list[1] == 1 && list[2] == 2 && list[3] == 3);
    while (!held.begun) FAILS(cuEventQuery(behind), CUDA_ERROR_NOT_READY);
    held.released = true;
    OK(cuStreamSynchronize(a));
    OK(cuEventQuery(behind));
    OK(cuMemcpyDtoH(host, cell, sizeof *host));
    CHECK(host[0] == 31);
    OK(cuEventDestroy(behind));
    OK(cuEventDestroy(start_event));
    OK(cuEventDestroy(end_event));
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
}

static void polling(void)
{
    CUstream a;
    CUevent start_event, end_event;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&start_event, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end_event, CU_EVENT_DEFAULT));
    OK(cuEventRecord(start_event, a));
    OK(cuMemsetD32Async(cell, 21, 1, a));
    OK(cuEventRecord(end_event, a));
    CUresult result;
    while ((result = cuEventQuery(end_event)) == CUDA_ERROR_NOT_READY) continue;
    OK(result);
    float milliseconds = -1;
    OK(cuEventElapsedTime(&milliseconds, start_event, end_event));
    CHECK(milliseconds >= 0);
    OK(cuMemsetD32Async(cell, 22, 1, a));
    while ((result = cuStreamQuery(a)) == CUDA_ERROR_NOT_READY) continue;
    OK(result);
    OK(cuMemcpyDtoHAsync(host, cell, sizeof *host, a));
    OK(cuStreamSynchronize(a));
    CHECK(*host == 22);
    CUevent untimed;
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(untimed, a));
    FAILS(cuEventElapsedTime(&milliseconds, start_event, untimed), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy(untimed));
    OK(cuEventDestroy(start_event));
    OK(cuEventDestroy(end_event));
    OK(cuStreamDestroy(a));
}

static CUcontext shared;

static void *worker(void *argument)
{
    CUdeviceptr own;
    OK(cuCtxSetCurrent(shared));
    OK(cuMemAlloc(&own, 4096));
    for (unsigned i = 0; i < 200; i++) {
        unsigned value = 0, wanted = i * 16 + *(unsigned *)argument;
        OK(cuMemsetD32Async(own, wanted, 1024, CU_STREAM_PER_THREAD));
        OK(cuMemcpyDtoHAsync(&value, own + 4 * (i % 1024), sizeof value, CU_STREAM_PER_THREAD));
        CHECK(value == wanted);
    }
    OK(cuMemFree(own));
    return NULL;
}

static void threads(void)
{
    pthread_t list[4];
    unsigned numbers[4] = {1, 2, 3, 4};
    OK(cuCtxGetCurrent(&shared));
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&list[i], NULL, worker, &numbers[i]));
    for (int i = 0; i < 4; i++) CHECK(!pthread_join(list[i], NULL));
}

static void *look_on(void *event)
{
    OK(cuCtxSetCurrent(shared));
    OK(cuEventQuery(event));
    return NULL;
}

/* A thread that submits nothing has no clock that work could be ahead of. */
static void a_thread_that_looks_on(void)
{
    enum { BYTES = 16 << 20 };
    CUstream a;
    CUevent event;
    CUdeviceptr large;
    pthread_t other;
    OK(cuCtxGetCurrent(&shared));
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuMemAlloc(&large, BYTES));
    for (unsigned i = 0; i < 16; i++) OK(cuMemsetD32Async(large, i, BYTES / 4, a));
    OK(cuEventRecord(event, a));
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    CHECK(!pthread_create(&other, NULL, look_on, event));
    CHECK(!pthread_join(other, NULL));
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(a));
    OK(cuEventQuery(event));
    OK(cuMemFree(large));
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(a));
}

/* More work than any queue holds. */
static void flood(void)
{
    CUstream a;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 20000; i++) OK(cuMemsetD32Async(cell, i, 1, a));
    OK(cuStreamSynchronize(a));
    expect(19999);
    OK(cuStreamDestroy(a));
}

int main(void)
{
    CUdevice device = start();
    OK(cuMemAlloc(&cell, 16));
    OK(cuMemAllocHost((void **)&host, sizeof *host));
    legacy_barrier();
    event_moment();
    host_functions();
    a_host_function_that_waits();
    polling();
    threads();
    a_thread_that_looks_on();
    flood();
    OK(cuMemFreeHost(host));
    OK(cuMemFree(cell));
    finish(device);
    return 0;
}
