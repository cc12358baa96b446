/* When sluice works in this process: from the first call that needs it with a context current, until that
 * context ends or the process does. Nothing is started from look-ups or constructors, so that a program may
 * fork after loading. Of every further device the first context that needs it is managed as well, by a core
 * of its own; the session lasts until the last of them ends.
 */
#ifndef SLUICE_SHIM_SESSION_H
#define SLUICE_SHIM_SESSION_H

#include <stdbool.h>

#include <cuda.h>

#include "base/forked.h"
#include "core/runtime.h"

enum sl_session_state { SL_SESSION_WAITING, SL_SESSION_RUNNING, SL_SESSION_OVER };

/* Read by the functions below only. A child finds zeroes: it waits, and sl_session_start sees what it is. */
struct sl_session_view {
    int state;
    bool several_contexts;
    bool several_devices; /* are, or were, managed */
    bool owns_memory;     /* addresses of ours are in use: until the context ends, also after the core has
                             stopped; never where it only records */
} SL_OWN_PAGES;
extern struct sl_session_view sl_session_view;

bool sl_session_start(void);

/* Whether the core runs; starts it where it waits. */
static inline bool sl_session_awake(void)
{
    int state = __atomic_load_n(&sl_session_view.state, __ATOMIC_ACQUIRE);
    return __builtin_expect(state == SL_SESSION_RUNNING, 1) ||
           (state == SL_SESSION_WAITING && sl_session_start());
}

/* Whether the calling thread has had a managed context current, as far as was seen. */
extern __thread bool sl_thread_had_context __attribute__((tls_model("initial-exec")));

/* Whether a managed context is current; one of another device becomes one. Asks the driver, notes the answer
 * for the thread, and turns it to that device's core. */
bool sl_session_owns_current_context(void);

/* Turns the thread to the core of the stream's device. False: it is not managed. */
bool sl_session_turn_to_stream(CUstream stream);

/* The same without asking, where it can be: while the process has made one context, a thread that had it
 * current is taken to have it still. */
static inline bool sl_session_has_context(void)
{
    return __builtin_expect(sl_thread_had_context &&
                                !__atomic_load_n(&sl_session_view.several_contexts, __ATOMIC_RELAXED),
                            1) ||
           sl_session_owns_current_context();
}

/* Whether this call is ours to see: not that of a thread without the context, which the driver refuses. */
static inline bool sl_session_on(void)
{
    return sl_session_awake() && sl_session_has_context();
}

/* The same for work on `stream`, which may be another device's than the current context. */
static inline bool sl_session_on_stream(CUstream stream)
{
    return sl_session_on() &&
           (__builtin_expect(!__atomic_load_n(&sl_session_view.several_devices, __ATOMIC_RELAXED), 1) ||
            sl_session_turn_to_stream(stream));
}

/* Whether `address` is in memory that a core gave out, also after the core has stopped at exit. */
static inline bool sl_session_owns(uint64_t address)
{
    return __atomic_load_n(&sl_session_view.owns_memory, __ATOMIC_RELAXED) && sl_runtime_owns(address);
}

/* Whether any of [address, address + bytes) is. */
bool sl_session_owns_part(uint64_t address, uint64_t bytes);

/* As sl_session_on, for calls that may ask the driver: true only with a managed context current. */
bool sl_session_on_for_memory(void);

/* Makes the managed context whose memory `address` is current for a call that needs none of the program, and
 * turns the thread to its core. What it returns goes to sl_session_leave. */
bool sl_session_enter(uint64_t address);
void sl_session_leave(bool entered);

/* Whether the device is managed or may become it. */
bool sl_session_may_manage(CUdevice device);

/* Turn the thread to the core of the context, or of the device. False: it is not managed. */
bool sl_session_turn_to_context(CUcontext context);
bool sl_session_turn_to_device(CUdevice device);

/* The managed device and context of the core that the thread is turned to, and of the one whose memory
 * `address` is. pre: the session has been on. */
CUdevice sl_session_device(void);
CUdevice sl_session_device_of(uint64_t address);
CUcontext sl_session_context_of(uint64_t address);

/* A context was made, or a device's primary context retained. */
void sl_session_context_made(CUcontext context);
void sl_session_primary_retained(CUdevice device, CUcontext context);

/* To be called before the driver's function: what is managed ends with the context. */
void sl_session_context_ends(CUcontext context);
void sl_session_primary_released(CUdevice device);
void sl_session_primary_reset(CUdevice device);

/* The child's part of fork. */
void sl_session_after_fork(void);

#endif
