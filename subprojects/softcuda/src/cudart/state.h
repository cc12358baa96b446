/* The prologue and epilogue of every Runtime API function: the driver, a current context, the thread's last
 * error.
 *
 * A function *enters* (loads the driver, makes a context current in this thread) and *finishes* (stores its
 * error for cudaGetLastError). SC_API and SC_STREAM_API define exported functions that do both.
 */
#ifndef SOFTCUDA_CUDART_STATE_H
#define SOFTCUDA_CUDART_STATE_H

#include "driver.h"

#define SC_EXPORT __attribute__((visibility("default")))

#define SC_MAX_DEVICES 64
#define SC_MAX_PENDING_LAUNCHES 16

/* The arguments of <<<...>>> between their evaluation and the launch. */
struct sc_launch_configuration {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
};

struct sc_thread {
    cudaError_t last_error;
    int device;   /* set by cudaSetDevice; initially 0 */
    bool entered; /* a context was current when this thread last checked */
    unsigned pending_count;
    struct sc_launch_configuration pending[SC_MAX_PENDING_LAUNCHES];
};

/* This thread's state; never NULL. */
struct sc_thread *sc_thread(void);

bool sc_error_is_sticky(cudaError_t error);

/* Loads the driver. Sufficient for queries about devices. */
cudaError_t sc_enter_driver(enum sc_default_stream kind, const struct sc_driver **out);

/* Loads the driver. Unless the program made a context current itself, also makes the primary context of the
 * thread's device current, and retains it at its first use. Checks once per thread: it asks the driver again
 * only after the driver reported that the context is gone (sc_context_lost), because every query costs the
 * program time. */
cudaError_t sc_enter(enum sc_default_stream kind, const struct sc_driver **out);

/* Whether `status` means that the context that this thread relied on is gone: popped or destroyed by the
 * program, or reset by another thread. If so, the call did nothing and must be repeated; the next sc_enter
 * finds another context. */
bool sc_context_lost(cudaError_t status);

/* Stores an error for cudaGetLastError and returns it. */
cudaError_t sc_finish(cudaError_t error);

/* The device of the current context or, without one, the device that the thread selected. pre:
 * sc_enter_driver succeeded. */
cudaError_t sc_current_device(const struct sc_driver *driver, int *device);

/* Defines the exported function `name`. `work` is an expression of type cudaError_t, in which `driver` is the
 * driver's table. SC_DEVICE_API needs no context. */
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

/* The same for a function with a default stream: defines `name` and its per-thread form `name` + `suffix`. */
#define SC_STREAM_API(name, suffix, parameters, work)                                                        \
    SC_DEFINE(name, sc_enter, SC_LEGACY_STREAM, parameters, work)                                            \
    SC_DEFINE(name##suffix, sc_enter, SC_PER_THREAD_STREAM, parameters, work)

#endif
