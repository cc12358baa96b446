/* For test programs that only know cuda.h: they run on any driver. */
#ifndef CHECK_H
#define CHECK_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) expect_result(call, CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define FAILS(call, wanted) expect_result(call, wanted, #call, __FILE__, __LINE__)
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition);                         \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static inline void expect_result(CUresult result, CUresult wanted, const char *call, const char *file,
                                 int line)
{
    if (result == wanted) return;
    const char *name = "unknown", *wanted_name = "unknown";
    cuGetErrorName(result, &name);
    cuGetErrorName(wanted, &wanted_name);
    fprintf(stderr, "%s:%d: %s returned %s, not %s\n", file, line, call, name, wanted_name);
    exit(1);
}

/* Initialises the driver and makes the first device's primary context current; 77 where there is no device.
 */
static inline CUdevice start(void)
{
    CUdevice device;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS) {
        fprintf(stderr, "no CUDA device\n");
        exit(77);
    }
    CUcontext context;
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    return device;
}

static inline int is_software(CUdevice device)
{
    char name[64] = "";
    OK(cuDeviceGetName(name, sizeof name, device));
    return !strncmp(name, "softcuda", 8);
}

/* For the few programs that test what no vendor's driver promises. */
static inline void only_in_software(CUdevice device)
{
    if (!is_software(device)) {
        fprintf(stderr, "needs softcuda\n");
        exit(77);
    }
}

static inline void finish(CUdevice device)
{
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease(device));
}

#endif
