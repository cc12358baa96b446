/* What every Runtime API function begins and ends with: the driver, a current context, the thread's last
 * error.
 *
 * Words: a function *enters* (loads the driver, makes a context current in this thread) and *finishes* (notes
 * its error for cudaGetLastError). SC_API and SC_STREAM_API define exported functions that do both.
 */
#ifndef SOFTCUDA_CUDART_STATE_H
#define SOFTCUDA_CUDART_STATE_H

#include "driver.h"

#define SC_EXPORT __attribute__((visibility("default")))

#define SC_MAX_DEVICES 64
#define SC_MAX_PENDING_LAUNCHES 16

/* What stands between <<< and >>> until the launch takes it. */
struct sc_launch_configuration {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
};

struct sc_thread {
    cudaError_t last_error;
    int device;   /* what cudaSetDevice chose; 0 at first */
    bool entered; /* a context was current when this thread last looked */
    unsigned pending_count;
    struct sc_launch_configuration pending[SC_MAX_PENDING_LAUNCHES];
};

/* This thread's state; never NULL. */
struct sc_thread *sc_thread(void);

bool sc_error_is_sticky(cudaError_t error);

/* Loads the driver. Enough for questions about devices. */
cudaError_t sc_enter_driver(enum sc_default_stream kind, const struct sc_driver **out);

/* Loads the driver and, unless the program made a context current itself, makes the primary context of the
 * thread's device current; retains it at its first use. Looks once for each thread: the driver is asked again
 * only when it has said that there is no context any more (sc_context_lost), since every question costs the
 * program time. */
cudaError_t sc_enter(enum sc_default_stream kind, const struct sc_driver **out);

/* Whether `status` says that the context this thread relied on is gone: popped or destroyed by the program,
 * or reset by another thread. If so the next sc_enter finds another, and the call, which did nothing, is to
 * be repeated. */
bool sc_context_lost(cudaError_t status);

/* Notes an error for cudaGetLastError and returns it. */
cudaError_t sc_finish(cudaError_t error);

/* The device whose context is current, or else the one the thread chose. pre: sc_enter_driver succeeded. */
cudaError_t sc_current_device(const struct sc_driver *driver, int *device);

/* Defines the exported function `name`, whose work is the expression `work`, a cudaError_t, in which `driver`
 * is the driver's table. SC_DEVICE_API needs no context. */
#define SC_DEFINE(name, enter, kind, parameters, work)                                                       \
    SC_EXPORT cudaError_t name parameters;                                                                   \
    SC_EXPORT cudaError_t name parameters                                                                    \
    {                                                                                                        \
        const struct sc_driver *driver = NULL;                                                               \
        cudaError_t status = cudaSuccess;                                                                    \
        do {                                                                                                 \
            status = enter(kind, &driver);                                                                   \
            if (status == cudaSuccess) status = (work);                                                      \
        } while (sc_context_lost(status));                                                                   \
        return sc_finish(status);                                                                            \
    }
#define SC_DEVICE_API(name, parameters, work)                                                                \
    SC_DEFINE(name, sc_enter_driver, SC_LEGACY_STREAM, parameters, work)
#define SC_API(name, parameters, work) SC_DEFINE(name, sc_enter, SC_LEGACY_STREAM, parameters, work)

/* The same for a function that knows the default stream: defines `name` and its per-thread form `name` +
 * `suffix`. */
#define SC_STREAM_API(name, suffix, parameters, work)                                                        \
    SC_DEFINE(name, sc_enter, SC_LEGACY_STREAM, parameters, work)                                            \
    SC_DEFINE(name##suffix, sc_enter, SC_PER_THREAD_STREAM, parameters, work)

#endif
