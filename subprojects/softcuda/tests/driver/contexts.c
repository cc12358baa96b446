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
