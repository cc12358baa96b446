/* What the tests on the software device share. */
#ifndef DEVICE_H
#define DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda.h>

#define MIB ((size_t)1 << 20)

#define ok(call) assert_int_equal(call, CUDA_SUCCESS)

/* The device's primary context, made current; also a group set-up for CMocka. */
static inline int use_device(void **state)
{
    CUdevice device;
    CUcontext context;
    (void)state;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device)) return -1;
    return cuCtxSetCurrent(context) == CUDA_SUCCESS ? 0 : -1;
}

/* Whether the session's virtual size, which the tests set apart from the device's, is what the program is
 * told. */
static inline bool managed_here(size_t virtual_bytes)
{
    size_t free_bytes, total_bytes;
    return cuMemGetInfo(&free_bytes, &total_bytes) == CUDA_SUCCESS && total_bytes == virtual_bytes;
}

#endif
