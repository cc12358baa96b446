/* The session, during which sluice works in this process: from the first call that needs it with a context
 * current, until that context or the process ends. Look-ups and constructors start nothing, so that a program
 * may fork after loading. On every other device, the first context that needs sluice is managed as well, by a
 * core of its own; the session lasts until the last of them ends. */
#ifndef SLUICE_SHIM_SESSION_H
#define SLUICE_SHIM_SESSION_H

#include <stdbool.h>

#include <cuda.h>

#include "base/forked.h"
#include "core/runtime.h"

enum sl_session_state { SL_SESSION_WAITING, SL_SESSION_RUNNING, SL_SESSION_OVER };

/* Read only by the functions below. A child after fork finds zeros: the session waits, and sl_session_start
 * detects the child. */
struct sl_session_view {
    int state;
    bool several_contexts;
    bool several_devices; /* several devices are or were managed */
    bool owns_memory;     /* addresses of ours are in use: until the context ends, also after the core has
                             stopped; never if it only records */
} SL_OWN_PAGES;
extern struct sl_session_view sl_session_view;

bool sl_session_start(void);

/* Whether the core runs; starts it if it waits. */
static inline bool sl_session_awake(void)
{
    int state = __atomic_load_n(&sl_session_view.state, __ATOMIC_ACQUIRE);
    return __builtin_expect(state == SL_SESSION_RUNNING, 1) ||
           (state == SL_SESSION_WAITING && sl_session_start());
}

/* Whether the calling thread was seen with a managed context current. */
extern __thread bool sl_thread_had_context __attribute__((tls_model("initial-exec")));

/* Whether a managed context is current; the first context of another device becomes managed. Asks the driver,
 * caches the answer for the thread, and selects that device's core for the thread. */
bool sl_session_owns_current_context(void);

/* Selects the core of the stream's device for the thread. False: it is not managed. */
bool sl_session_turn_to_stream(CUstream stream);

/* As sl_session_owns_current_context, without asking if possible: while the process has made one context
 * only, a thread that had it current is assumed to have it still. */
static inline bool sl_session_has_context(void)
{
    return __builtin_expect(sl_thread_had_context &&
                                !__atomic_load_n(&sl_session_view.several_contexts, __ATOMIC_RELAXED),
                            1) ||
           sl_session_owns_current_context();
}

/* Whether the core handles this call: not for a thread without the context, whose call the driver refuses. */
static inline bool sl_session_on(void)
{
    return sl_session_awake() && sl_session_has_context();
}

/* The same for work on `stream`, whose device may differ from that of the current context. */
static inline bool sl_session_on_stream(CUstream stream)
{
    return sl_session_on() &&
           (__builtin_expect(!__atomic_load_n(&sl_session_view.several_devices, __ATOMIC_RELAXED), 1) ||
            sl_session_turn_to_stream(stream));
}

/* Whether `address` is in memory from a core, also after the core has stopped at exit. */
static inline bool sl_session_owns(uint64_t address)
{
    return __atomic_load_n(&sl_session_view.owns_memory, __ATOMIC_RELAXED) && sl_runtime_owns(address);
}

/* The same for any part of [address, address + bytes). */
bool sl_session_owns_part(uint64_t address, uint64_t bytes);

/* As sl_session_on, for calls that may ask the driver: true only with a managed context current. */
bool sl_session_on_for_memory(void);

/* Makes the managed context that owns `address` current, for a call that needs no context of the program, and
 * selects its core for the thread. Pass the result to sl_session_leave. */
bool sl_session_enter(uint64_t address);
void sl_session_leave(bool entered);

/* Whether the device is managed or may become managed. */
bool sl_session_may_manage(CUdevice device);

/* Select the core of the context or of the device for the thread. False: it is not managed. */
bool sl_session_turn_to_context(CUcontext context);
bool sl_session_turn_to_device(CUdevice device);

/* The managed device and context of the thread's selected core, and of the core that owns `address`.
 * Precondition: the session has been on. */
CUdevice sl_session_device(void);
CUdevice sl_session_device_of(uint64_t address);
CUcontext sl_session_context_of(uint64_t address);

/* A context was made, or the primary context of a device retained. */
void sl_session_context_made(CUcontext context);
void sl_session_primary_retained(CUdevice device, CUcontext context);

/* Call it before the driver's function: the session of the context ends with it. */
void sl_session_context_ends(CUcontext context);
void sl_session_primary_released(CUdevice device);
void sl_session_primary_reset(CUdevice device);

/* For the child after fork. */
void sl_session_after_fork(void);

#endif
