/* Contexts: stacks, primary and other, and handles after their end. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void *other_thread(void *argument)
{
    CUcontext current = (CUcontext)1;
    (void)argument;
    OK(cuCtxGetCurrent(&current));
    CHECK(current == NULL);
    CUdeviceptr a;
    FAILS(cuMemAlloc(&a, 16), CUDA_ERROR_INVALID_CONTEXT);
    return NULL;
}

/* With the argument's memory: the vendor's driver frees it with any context current, or none. */
static void *freeing_thread(void *argument)
{
    CUdeviceptr a;
    FAILS(cuMemFree(*(CUdeviceptr *)argument + 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAlloc(&a, 16), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuMemFreeAsync(*(CUdeviceptr *)argument, NULL), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuMemFree(*(CUdeviceptr *)argument));
    return NULL;
}

static void freed_without_a_context(void)
{
    enum { BYTES = 1 << 20 };
    static uint8_t host[BYTES];
    size_t before, after, total;
    CUcontext current, popped;
    CUdeviceptr a, b;
    CUstream stream;
    pthread_t thread;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemGetInfo(&before, &total));
    OK(cuMemAlloc(&a, BYTES));
    OK(cuMemAlloc(&b, BYTES));
    OK(cuMemsetD8Async(a, 3, BYTES, stream));
    OK(cuMemcpyDtoHAsync(host, a, BYTES, stream));
    CHECK(!pthread_create(&thread, NULL, freeing_thread, &a));
    pthread_join(thread, NULL);
    CHECK(host[0] == 3 && host[BYTES - 1] == 3); /* it waited for the work */
    OK(cuCtxGetCurrent(&current));
    OK(cuCtxPopCurrent(&popped));
    OK(cuMemFree(b));
    FAILS(cuMemFree(b), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(0));
    OK(cuCtxPushCurrent(current));
    OK(cuMemGetInfo(NULL, &total));
    OK(cuMemGetInfo(&after, NULL));
    CHECK(before == after);
    OK(cuStreamDestroy(stream));
}

static void of_a_destroyed_context(CUdevice device)
{
    CUcontext own, primary;
    CUdevice found;
    CUdeviceptr a;
    OK(cuCtxGetCurrent(&primary));
    OK(cuCtxCreate(&own, NULL, 0, device));
    OK(cuCtxPushCurrent(primary));
    OK(cuCtxDestroy(own));
    OK(cuCtxPopCurrent(NULL));
    FAILS(cuMemAlloc(&a, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    FAILS(cuCtxGetDevice(&found), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent(NULL));
    OK(cuMemAlloc(&a, 16));
    OK(cuMemFree(a));
}

static void stack(CUdevice device)
{
    CUcontext primary, own, popped, current;
    OK(cuCtxGetCurrent(&primary));
    OK(cuCtxCreate(&own, NULL, CU_CTX_SCHED_AUTO, device));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == own);
    OK(cuCtxPushCurrent(primary));
    OK(cuCtxPopCurrent(&popped));
    CHECK(popped == primary);
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 1 << 20));
    CUstream stream;
    OK(cuStreamCreate(&stream, 0));
    OK(cuCtxDestroy(own));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == primary);
    /* What lived in it is gone. */
    FAILS(cuMemFree(a), CUDA_ERROR_INVALID_VALUE);
    unsigned flags;
    int active = 0;
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    CHECK(active == 1);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, other_thread, NULL));
    pthread_join(thread, NULL);
}

/* A child that inherits an initialised driver may not use it, and ends quietly. */
static void child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        int count;
        _exit(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
    int count = 0;
    FAILS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    pid_t pid = fork(); /* before cuInit: the child is as free as its parent */
    if (pid == 0) {
        CUdevice device = start();
        finish(device);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(pid, &status, 0) == pid);
    if (WEXITSTATUS(status) == 77) return 77;
    CHECK(status == 0);
    CUdevice device = start();
    stack(device);
    freed_without_a_context();
    of_a_destroyed_context(device);
    child();
    finish(device);
    CUcontext again;
    OK(cuDevicePrimaryCtxRetain(&again, device));
    OK(cuCtxSetCurrent(again));
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 16));
    OK(cuDevicePrimaryCtxReset(device));
    return 0;
}
