/* Threads whose first calls, which start the driver and sluice, come at the same time. */
#include "trainer.h"

#include <pthread.h>

#define THREADS 4

static pthread_barrier_t start;

static void *use_memory(void *number)
{
    unsigned value = (unsigned)(uintptr_t)number;
    uint32_t word;
    CUdeviceptr memory;
    size_t free_bytes, total_bytes;
    CUdevice device;
    CUcontext context;
    pthread_barrier_wait(&start);
    must(!cuInit(0) && !cuDeviceGet(&device, 0) && !cuDevicePrimaryCtxRetain(&context, device));
    must(!cuCtxSetCurrent(context));
    must(!cuMemAlloc(&memory, 4096) && !cuMemGetInfo(&free_bytes, &total_bytes));
    must(total_bytes == (size_t)768 << 20); /* SLUICE_VIRTUAL_SIZE */
    must(!cuMemsetD32(memory, value, 1024) && !cuMemcpyDtoH(&word, memory + 4092, 4) && word == value);
    must(!cuMemFree(memory));
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    must(!pthread_barrier_init(&start, NULL, THREADS));
    for (uintptr_t i = 0; i < THREADS; i++)
        must(!pthread_create(&threads[i], NULL, use_memory, (void *)(i + 1)));
    for (int i = 0; i < THREADS; i++) must(!pthread_join(threads[i], NULL));
    return 0;
}
