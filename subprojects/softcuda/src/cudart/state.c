#include "state.h"

#include "module.h"
#include "refused.h"

#include <pthread.h>

static _Thread_local struct sc_thread thread_state;

/* The primary contexts retained so far, by device; cudaDeviceReset clears them. */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[SC_MAX_DEVICES];

struct sc_thread *sc_thread(void)
{
    return &thread_state;
}

cudaError_t sc_finish(cudaError_t error)
{
    /* A sticky error is not replaced by a later error. */
    if (error != cudaSuccess && !sc_error_is_sticky(thread_state.last_error)) thread_state.last_error = error;
    return error;
}

int sc_refuse(int error)
{
    return (int)sc_finish((cudaError_t)error);
}

cudaError_t sc_enter_driver(enum sc_default_stream kind, const struct sc_driver **out)
{
    return sc_driver_get(kind, out);
}

static cudaError_t make_primary_current(const struct sc_driver *driver, int ordinal)
{
    if (ordinal < 0 || ordinal >= SC_MAX_DEVICES) return cudaErrorInvalidDevice;
    pthread_mutex_lock(&primary_lock);
    cudaError_t status = cudaSuccess;
    if (!primaries[ordinal]) {
        CUdevice device = 0;
        CUcontext context = NULL;
        status = CALL(cuDeviceGet, &device, ordinal);
        if (status == cudaSuccess) status = CALL(cuDevicePrimaryCtxRetain, &context, device);
        if (status == cudaSuccess) primaries[ordinal] = context;
    }
    const CUcontext context = primaries[ordinal];
    pthread_mutex_unlock(&primary_lock);
    return status == cudaSuccess ? CALL(cuCtxSetCurrent, context) : status;
}

cudaError_t sc_enter(enum sc_default_stream kind, const struct sc_driver **out)
{
    const struct sc_driver *driver = NULL;
    cudaError_t status = sc_driver_get(kind, &driver);
    if (status != cudaSuccess) return status;
    CUcontext current = NULL;
    if (!thread_state.entered) {
        status = CALL(cuCtxGetCurrent, &current);
        if (status == cudaSuccess && !current) status = make_primary_current(driver, thread_state.device);
        if (status != cudaSuccess) return status;
        thread_state.entered = true;
    }
    *out = driver;
    return cudaSuccess;
}

bool sc_context_lost(cudaError_t status)
{
    if (!thread_state.entered) return false;
    if (status != cudaErrorDeviceUninitialized && status != cudaErrorContextIsDestroyed) return false;
    thread_state.entered = false;
    const struct sc_driver *driver = NULL;
    if (sc_driver_get(SC_LEGACY_STREAM, &driver) != cudaSuccess) return false;
    /* A destroyed context is still current in this thread, so unset it. */
    return status == cudaErrorDeviceUninitialized || CALL(cuCtxSetCurrent, NULL) == cudaSuccess;
}

cudaError_t sc_current_device(const struct sc_driver *driver, int *device)
{
    const cudaError_t status = CALL(cuCtxGetDevice, device);
    if (status != cudaErrorDeviceUninitialized && status != cudaErrorContextIsDestroyed) return status;
    *device = thread_state.device;
    return cudaSuccess;
}

static cudaError_t check_ordinal(const struct sc_driver *driver, int ordinal)
{
    int count = 0;
    const cudaError_t status = CALL(cuDeviceGetCount, &count);
    if (status != cudaSuccess) return status;
    return ordinal >= 0 && ordinal < count ? cudaSuccess : cudaErrorInvalidDevice;
}

static cudaError_t set_device(const struct sc_driver *driver, int ordinal)
{
    cudaError_t status = check_ordinal(driver, ordinal);
    if (status == cudaSuccess) status = make_primary_current(driver, ordinal);
    if (status != cudaSuccess) return status;
    thread_state.device = ordinal;
    thread_state.entered = true;
    return cudaSuccess;
}

/* The primary context of another device; the current context does not change. */
static cudaError_t peer_context(const struct sc_driver *driver, int peer, CUcontext *out)
{
    CUcontext before = NULL;
    cudaError_t status = check_ordinal(driver, peer);
    if (status == cudaSuccess) status = CALL(cuCtxGetCurrent, &before);
    if (status == cudaSuccess) status = make_primary_current(driver, peer);
    if (status == cudaSuccess) status = CALL(cuCtxGetCurrent, out);
    if (status == cudaSuccess) status = CALL(cuCtxSetCurrent, before);
    return status;
}

static cudaError_t init_device(const struct sc_driver *driver, int ordinal, unsigned device_flags,
                               unsigned flags)
{
    cudaError_t status = check_ordinal(driver, ordinal);
    if (status == cudaSuccess && (flags & cudaInitDeviceFlagsAreValid))
        status = CALL(cuDevicePrimaryCtxSetFlags, ordinal, device_flags & ~(unsigned)cudaDeviceMapHost);
    if (status != cudaSuccess) return status;
    /* The thread's own device stays current: this call only initialises the other one. */
    CUcontext context = NULL;
    return peer_context(driver, ordinal, &context);
}

static cudaError_t reset_device(const struct sc_driver *driver)
{
    int device = 0;
    cudaError_t status = sc_current_device(driver, &device);
    if (status == cudaSuccess) status = CALL(cuDevicePrimaryCtxReset, device);
    if (status != cudaSuccess) return status;
    /* The reset released the retained context: the next call retains it again. */
    pthread_mutex_lock(&primary_lock);
    if (device < SC_MAX_DEVICES) primaries[device] = NULL;
    pthread_mutex_unlock(&primary_lock);
    CALL(cuCtxSetCurrent, NULL);
    thread_state.entered = false;
    sc_modules_forget_managed();
    thread_state.last_error = cudaSuccess;
    return cudaSuccess;
}

static cudaError_t enable_peer(const struct sc_driver *driver, int peer, unsigned flags)
{
    CUcontext context = NULL;
    const cudaError_t status = peer_context(driver, peer, &context);
    return status == cudaSuccess ? CALL(cuCtxEnablePeerAccess, context, flags) : status;
}

static cudaError_t disable_peer(const struct sc_driver *driver, int peer)
{
    CUcontext context = NULL;
    const cudaError_t status = peer_context(driver, peer, &context);
    return status == cudaSuccess ? CALL(cuCtxDisablePeerAccess, context) : status;
}

static cudaError_t set_flags(const struct sc_driver *driver, unsigned flags)
{
    int device = 0;
    const cudaError_t status = sc_current_device(driver, &device);
    /* Mapped host memory needs no flag, and the driver has none for it. */
    return status == cudaSuccess
               ? CALL(cuDevicePrimaryCtxSetFlags, device, flags & ~(unsigned)cudaDeviceMapHost)
               : status;
}

static cudaError_t get_flags(const struct sc_driver *driver, unsigned *flags)
{
    int device = 0, active = 0;
    if (!flags) return cudaErrorInvalidValue;
    cudaError_t status = sc_current_device(driver, &device);
    unsigned got = 0;
    if (status == cudaSuccess) status = CALL(cuDevicePrimaryCtxGetState, device, &got, &active);
    if (status == cudaSuccess) *flags = got | cudaDeviceMapHost;
    return status;
}

SC_DEVICE_API(cudaSetDevice, (int device), set_device(driver, device))
SC_DEVICE_API(cudaGetDevice, (int *device),
              device ? sc_current_device(driver, device) : cudaErrorInvalidValue)
SC_DEVICE_API(cudaInitDevice, (int device, unsigned int device_flags, unsigned int flags),
              init_device(driver, device, device_flags, flags))
SC_DEVICE_API(cudaDeviceReset, (void), reset_device(driver))
SC_DEVICE_API(cudaSetDeviceFlags, (unsigned int flags), set_flags(driver, flags))
SC_DEVICE_API(cudaGetDeviceFlags, (unsigned int *flags), get_flags(driver, flags))
SC_API(cudaDeviceSynchronize, (void), CALL(cuCtxSynchronize))
SC_API(cudaDeviceEnablePeerAccess, (int peer, unsigned int flags), enable_peer(driver, peer, flags))
SC_API(cudaDeviceDisablePeerAccess, (int peer), disable_peer(driver, peer))
