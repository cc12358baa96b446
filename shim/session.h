/* When sluice works in this process: from the first call that needs it with a context current, until that
 * context ends or the process does. Nothing is started from look-ups or constructors, so that a program may
 * fork after loading.
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
    bool owns_memory; /* addresses of ours are in use: until the context ends, also after the core has
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

/* Whether the calling thread has had the managed context current, as far as was seen. */
extern __thread bool sl_thread_had_context __attribute__((tls_model("initial-exec")));

/* Whether the managed context is current. Asks the driver, and notes the answer for the thread. */
bool sl_session_owns_current_context(void);

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

/* Whether `address` is in memory that the core gave out, also after the core has stopped at exit. */
static inline bool sl_session_owns(uint64_t address)
{
    return __atomic_load_n(&sl_session_view.owns_memory, __ATOMIC_RELAXED) && sl_runtime_owns(address);
}

/* Whether any of [address, address + bytes) is. */
bool sl_session_owns_part(uint64_t address, uint64_t bytes);

/* As sl_session_on, for calls that may ask the driver: true only with the managed context current. */
bool sl_session_on_for_memory(void);

/* Makes the managed context current for a call that needs none of the program. What it returns goes to
 * sl_session_leave. */
bool sl_session_enter(void);
void sl_session_leave(bool entered);

/* Whether the device is the managed one or, before the session starts, may become it. */
bool sl_session_may_manage(CUdevice device);

/* The managed device and context. pre: the session has been on. */
CUdevice sl_session_device(void);
CUcontext sl_session_context(void);

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
