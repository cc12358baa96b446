/* A library that uses CUDA, bound to the driver by the linker or to the runtime, for programs that load it
 * late. */
#include "plugin.h"

#ifdef PLUGIN_RUNTIME
#include <cuda_runtime_api.h>

int plugin_train(void)
{
    void *memory;
    unsigned char byte = 0;
    if (cudaMalloc(&memory, 32u << 20) || cudaMemset(memory, 42, 32u << 20)) return 1;
    if (cudaMemcpy(&byte, (char *)memory + (31u << 20), 1, cudaMemcpyDeviceToHost) || byte != 42) return 2;
    return cudaFree(memory) ? 3 : 0;
}

unsigned long plugin_device_bytes(void)
{
    size_t free_bytes, total_bytes;
    return cudaMemGetInfo(&free_bytes, &total_bytes) ? 0 : total_bytes;
}
#else
#include "trainer.h"

int plugin_train(void)
{
    return trainer_run(5) ? 1 : 0;
}

unsigned long plugin_device_bytes(void)
{
    size_t free_bytes, total_bytes;
    return cuMemGetInfo(&free_bytes, &total_bytes) ? 0 : total_bytes;
}
#endif

#ifdef PLUGIN_CONSTRUCTOR
#include <pthread.h>

static void *allocate(void *unused)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device)) return unused;
    if (cuCtxSetCurrent(context) || cuMemAlloc(&memory, 4096) || cuMemFree(memory)) return unused;
    return NULL;
}

/* The loader's lock is held by whoever loads this library, and the thread must do without it. */
__attribute__((constructor)) static void load(void)
{
    static int failed;
    pthread_t thread;
    void *result = &failed;
    if (!pthread_create(&thread, NULL, allocate, &failed)) pthread_join(thread, &result);
    plugin_loaded = result == NULL;
}
#endif

int plugin_loaded;
