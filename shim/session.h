/* The session, during which sluice works in this process: from the first call that needs it with a context
 * current, until the process ends. Look-ups and constructors start nothing, so that a program may fork after
 * loading. Of each device one context is managed at a time, by a core of its own: the first one that needs
 * sluice and, when that context has ended, the next one. The memory of other contexts stays the driver's and
 * is charged to the managed one of their device. */
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
    uint32_t trusted;      /* what sl_thread_context must be; SL_NEVER_TRUSTED: ask the driver every time */
    bool several_contexts; /* exist at this time, or there are more than can be counted */
    bool owns_memory;      /* addresses of ours may be in use, also after the core has stopped at exit; never
                              if it only records */
} SL_OWN_PAGES;
#define SL_NEVER_TRUSTED UINT32_MAX
extern struct sl_session_view sl_session_view;

bool sl_session_start(void);

/* Whether the core runs; starts it if it waits. */
static inline bool sl_session_awake(void)
{
    int state = __atomic_load_n(&sl_session_view.state, __ATOMIC_ACQUIRE);
    return __builtin_expect(state == SL_SESSION_RUNNING, 1) ||
           (state == SL_SESSION_WAITING && sl_session_start());
}

/* Not 0: the calling thread was seen with a managed context current, and neither it nor any context's end has
 * changed that since, if it equals `trusted` of the view. */
extern __thread uint32_t sl_thread_context __attribute__((tls_model("initial-exec")));

/* Whether a managed context is current; a context that may become managed does. Asks the driver, caches the
 * answer for the thread, and selects that context's core for the thread. */
bool sl_session_owns_current_context(void);

/* Whether a managed context is current for certain, without asking. */
static inline bool sl_session_trusts_thread(void)
{
    return sl_thread_context &&
           sl_thread_context == __atomic_load_n(&sl_session_view.trusted, __ATOMIC_RELAXED);
}

/* The calling thread's current context may have changed. */
static inline void sl_session_context_changed(void)
{
    sl_thread_context = 0;
}

/* Selects the core of the stream's context for the thread. False: it is not managed. */
bool sl_session_turn_to_stream(CUstream stream);

/* As sl_session_owns_current_context, without asking if the process has only one context and the thread has
 * not changed its current one. */
static inline bool sl_session_has_context(void)
{
    return __builtin_expect(sl_thread_context == __atomic_load_n(&sl_session_view.trusted, __ATOMIC_RELAXED),
                            1) ||
           sl_session_owns_current_context();
}

/* Whether the core handles this call: not for a thread without the context, whose call the driver refuses. */
static inline bool sl_session_on(void)
{
    return sl_session_awake() && sl_session_has_context();
}

/* The same for work on `stream`, whose context may differ from the current one. */
static inline bool sl_session_on_stream(CUstream stream)
{
    return sl_session_on() &&
           (__builtin_expect(!__atomic_load_n(&sl_session_view.several_contexts, __ATOMIC_RELAXED), 1) ||
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

/* Whether memory that the driver gives to the current context is charged: that context, or another one of its
 * device, is managed. Selects the core that it is charged to for the thread. */
bool sl_session_charges(void);

/* Makes the managed context that owns `address` current, for a call that needs no context of the program, and
 * selects its core for the thread. False: the driver refuses. Pass *entered to sl_session_leave. */
bool sl_session_enter(uint64_t address, bool *entered);
/* The same for a core's context. */
bool sl_session_enter_core(uint32_t core, bool *entered);
void sl_session_leave(bool entered);

/* sluice's own stream in the context that owns `address`; NULL: that context has ended, or there is none. */
CUstream sl_session_own_stream(uint64_t address);

/* Whether the device is managed or may become managed. */
bool sl_session_may_manage(CUdevice device);

/* Select the core of the context or of the device for the thread. False: it is not managed. */
bool sl_session_turn_to_context(CUcontext context);
bool sl_session_turn_to_device(CUdevice device);

/* The managed device of the thread's selected core, and device and context of the core that owns `address`.
 * Precondition: the session has been on. */
CUdevice sl_session_device(void);
CUdevice sl_session_device_of(uint64_t address);
CUcontext sl_session_context_of(uint64_t address);

/* A context was made, or the primary context of a device retained. */
void sl_session_context_made(CUcontext context);
void sl_session_primary_retained(CUdevice device, CUcontext context);

/* Call them before the driver's function: the core of the context stops. The first one is for a context that
 * the program made, not for a primary one. */
void sl_session_context_ends(CUcontext context);
void sl_session_primary_released(CUdevice device);
void sl_session_primary_reset(CUdevice device);

/* For the child after fork. */
void sl_session_after_fork(void);

#endif
