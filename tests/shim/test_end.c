/* How a session ends: memory freed after it, by whom and when ever, must not disturb the program. The first
 * argument says which end. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VIRTUAL_BYTES (768 * MIB)

#define must(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            _exit(2);                                                                                        \
        }                                                                                                    \
    } while (0)

static CUdeviceptr early, late;

/* Registered before the first CUDA call, so it runs after the session has ended. */
static void free_very_late(void)
{
    CUresult result = cuMemFree(early);
    must(result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED);
}

/* Runs before the session ends. */
static void free_late(void)
{
    must(!cuMemFree(late));
}

static void start(void)
{
    must(!use_device(NULL));
    must(!cuMemAlloc(&early, MIB) && !cuMemAlloc(&late, MIB));
    must(!cuMemsetD8(early, 1, MIB));
    must(managed_here(VIRTUAL_BYTES));
}

static void freed_at_exit(void)
{
    atexit(free_very_late);
    start();
    atexit(free_late);
    exit(0);
}

/* The device forgets its memory; the program goes on with a new context. */
static void device_reset(void)
{
    CUdevice device;
    CUdeviceptr address;
    start();
    must(!cuCtxGetDevice(&device));
    must(!cuDevicePrimaryCtxReset(device));
    cuMemFree(early); /* an error or not, as the driver says */
    must(!use_device(NULL));
    must(managed_here(VIRTUAL_BYTES));
    must(!cuMemAlloc(&address, MIB));
    must(!cuMemsetD8(address, 7, MIB));
    must(!cuMemFree(address));
}

static void context_destroyed(void)
{
    CUcontext own;
    CUdevice device;
    must(!cuInit(0));
    must(!cuDeviceGet(&device, 0));
    must(!cuCtxCreate(&own, NULL, 0, device));
    must(!cuMemAlloc(&early, MIB));
    must(managed_here(VIRTUAL_BYTES));
    must(!cuCtxDestroy(own));
    cuMemFree(early);
}

static void last_eviction(void)
{
    CUdevice device;
    start();
    must(!use_device(NULL));
    must(!cuCtxGetDevice(&device));
    must(!cuDevicePrimaryCtxRelease(device));
    must(managed_here(VIRTUAL_BYTES));
    must(!cuMemFree(late));
    must(!cuDevicePrimaryCtxRelease(device));
    cuMemFree(early);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ends[] = {{"exit", freed_at_exit},
                {"reset", device_reset},
                {"destroy", context_destroyed},
                {"release", last_eviction}};
    for (size_t i = 0; argc == 2 && i < sizeof(ends) / sizeof(ends[0]); i++)
        if (!strcmp(argv[1], ends[i].name)) {
            ends[i].run();
            return 0;
        }
    fprintf(stderr, "which end?\n");
    return 1;
}
