/* A wait for the context ends with the work that was submitted before it, although another thread waits for
 * work that it submits meanwhile. The host function of the first begins only when somebody waits for it (a
 * late device), so that the other thread's work comes later than the wait. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "check.h"

static CUcontext shared;
static volatile unsigned *seen; /* by the host, written by the other thread's stream */
static _Atomic bool waiting, over;

/* Ends when the other thread waits for its stream, whose first operation nothing else would run. */
static void CUDA_CB let_the_other_wait(void *unused)
{
    (void)unused;
    atomic_store(&waiting, true);
    while (!*seen) sched_yield();
}

static void CUDA_CB wait_for_the_end(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) sched_yield();
}

static void *other(void *unused)
{
    CUstream stream;
    OK(cuCtxSetCurrent(shared));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    while (!atomic_load(&waiting)) sched_yield();
    OK(cuMemsetD32Async((CUdeviceptr)seen, 1, 1, stream));
    OK(cuLaunchHostFunc(stream, wait_for_the_end, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy(stream));
    return unused;
}

int main(void)
{
    CUdevice device = start();
    CUstream stream;
    pthread_t thread;
    only_in_software(device);
    OK(cuCtxGetCurrent(&shared));
    OK(cuMemAllocHost((void **)&seen, sizeof *seen));
    *seen = 0;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(!pthread_create(&thread, NULL, other, NULL));
    OK(cuLaunchHostFunc(stream, let_the_other_wait, NULL));
    OK(cuCtxSynchronize());
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    OK(cuStreamDestroy(stream));
    finish(device);
    return 0;
}
