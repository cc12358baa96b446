#include "session.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "captured_memory.h"
#include "charge.h"
#include "contexts.h"
#include "device/backend_cuda.h"
#include "driver.h"
#include "init.h"
#include "mapping.h"
#include "pools.h"

enum { POPS = 8 };

struct sl_session_view sl_session_view;

static struct {
    pthread_mutex_t lock; /* guards all members below, except those that are read after the start */
    struct {
        CUcontext _Atomic context;   /* NULL: none yet, or it has ended */
        CUstream _Atomic own_stream; /* of sluice in that context; or NULL */
        CUdevice device;
    } managed[SL_MOST_CORES]; /* by the core's number; the first is set before the state says running */
    _Atomic uint32_t managed_count;
    /* Read without the lock, while another thread may start the session. */
    _Atomic pid_t process; /* process of the session; 0: not started */
    _Atomic bool wiped;    /* a forked child finds the view zeroed */
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set_state(enum sl_session_state state)
{
    __atomic_store_n(&sl_session_view.state, state, __ATOMIC_RELEASE);
}

static bool running(void)
{
    return __atomic_load_n(&sl_session_view.state, __ATOMIC_ACQUIRE) == SL_SESSION_RUNNING;
}

/* Registered after the driver's own exit handlers and therefore run before them, while the driver still
 * works. */
static void at_exit(void)
{
    if (!running() || session.process != getpid()) return;
    set_state(SL_SESSION_OVER);
    sl_runtime_stop(false);
}

/* If this process is a child that did not run the fork handler, does what the handler would have done: locks
 * may be held by threads that do not exist in the child. */
static void see_what_process_this_is(void)
{
    pid_t process = session.process;
    if (process && process != getpid()) sl_after_fork();
}

/* Precondition: session.lock is held and a context is current. */
static enum sl_session_state start_on(const struct sl_cuda_driver *driver, CUcontext context)
{
    struct sl_backend backend;
    session.managed[0].context = context;
    session.managed_count = 1;
    session.process = getpid();
    /* Rule 19 of docs/concurrency.md */
    session.wiped = sl_forget_in_children(&sl_session_view, sizeof sl_session_view);
    sl_contexts_publish();
    if (!driver || driver->ctx_get_device(&session.managed[0].device) != CUDA_SUCCESS) return SL_SESSION_OVER;
    if (atexit(at_exit)) {
        sl_log(SL_LOG_WARN, "no exit handler can be registered: the program runs without sluice");
        return SL_SESSION_OVER;
    }
    enum sl_status status = sl_backend_cuda_new(driver, sl_runtime_memory(), sl_runtime_sysfs(), &backend);
    if (status) {
        sl_log(SL_LOG_WARN, "cannot start (%s); the program runs as without sluice", sl_status_text(status));
        return SL_SESSION_OVER;
    }
    if (sl_runtime_start(&backend) != SL_OK) return SL_SESSION_OVER;
    session.managed[0].own_stream = backend.stream_in(backend.self);
    __atomic_store_n(&sl_session_view.owns_memory, !sl_runtime_records_only(), __ATOMIC_RELAXED);
    return SL_SESSION_RUNNING;
}

/* Without a current context this call fails in the driver, and a later call tries again. After any other
 * error no call tries again, because then the program would have memory of both kinds. */
bool sl_session_start(void)
{
    static __thread bool starting __attribute__((tls_model("initial-exec")));
    if (starting) return false;
    see_what_process_this_is();
    if (__atomic_load_n(&sl_session_view.state, __ATOMIC_RELAXED) != SL_SESSION_WAITING ||
        !sl_driver_load_now())
        return running();

    int cancel_state;
    starting = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_lock(&session.lock);
    if (__atomic_load_n(&sl_session_view.state, __ATOMIC_RELAXED) == SL_SESSION_WAITING) {
        const struct sl_cuda_driver *driver = sl_runtime_wanted() ? sl_driver_functions() : NULL;
        CUcontext context = NULL;
        CUresult result = driver ? driver->ctx_get_current(&context) : CUDA_SUCCESS;
        bool usable = driver && result == CUDA_SUCCESS && context;
        if (result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_SUCCESS) driver = NULL;
        if (!driver || usable) sl_runtime_seen();
        if (!driver)
            set_state(SL_SESSION_OVER);
        else if (usable)
            set_state(start_on(driver, context));
        if (sl_session_view.state == SL_SESSION_OVER) sl_runtime_unused();
    }
    pthread_mutex_unlock(&session.lock);
    pthread_setcancelstate(cancel_state, NULL);
    starting = false;
    return running();
}

__thread uint32_t sl_thread_context __attribute__((tls_model("initial-exec")));

/* The core of a managed context, or SL_MOST_CORES. */
static uint32_t core_of(CUcontext context)
{
    uint32_t count = atomic_load_explicit(&session.managed_count, memory_order_acquire);
    for (uint32_t c = 0; c < count && context; c++)
        if (session.managed[c].context == context) return c;
    return SL_MOST_CORES;
}

/* Whether a context of the device is managed. */
static bool is_managed(CUdevice device)
{
    for (uint32_t c = 0; c < session.managed_count; c++)
        if (session.managed[c].device == device && session.managed[c].context) return true;
    return false;
}

/* Precondition: session.lock is held, and `context` is current and of `device`. */
static bool start_another(CUcontext context, CUdevice device)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    struct sl_backend backend;
    uint32_t number = sl_cores_next();
    if (number == SL_MOST_CORES ||
        sl_backend_cuda_new(driver, sl_runtime_memory(), sl_runtime_sysfs(), &backend) != SL_OK)
        return false;
    session.managed[number].device = device;
    if (sl_runtime_start_another(&backend, &number) != SL_OK) return false;
    session.managed[number].own_stream = backend.stream_in(backend.self);
    session.managed[number].context = context;
    if (number == session.managed_count)
        atomic_store_explicit(&session.managed_count, number + 1, memory_order_release);
    return true;
}

/* Precondition: as for start_another. */
static void become_managed_or_not(CUcontext context, CUdevice device)
{
    bool beside = is_managed(device), manages = !sl_runtime_records_only();
    sl_context_made(context);
    if (!manages || beside || !start_another(context, device)) sl_context_is_beside(context, device);
    if (manages && beside)
        sl_warn_once(
            "device %d has a second context, which is not managed: its memory stays the driver's and "
            "lessens the budget of the first one",
            device);
}

/* Handles an unknown context. One that the driver does not know either is about to go, or gone. */
static void consider(CUcontext context)
{
    static __thread bool considering __attribute__((tls_model("initial-exec")));
    int cancel_state;
    CUdevice device;
    if (considering || session.process != getpid()) return;
    considering = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_lock(&session.lock);
    if (running() && core_of(context) == SL_MOST_CORES && !sl_context_known_beside(context) &&
        sl_driver_functions()->ctx_get_device(&device) == CUDA_SUCCESS)
        become_managed_or_not(context, device);
    pthread_mutex_unlock(&session.lock);
    pthread_setcancelstate(cancel_state, NULL);
    considering = false;
}

bool sl_session_turn_to_context(CUcontext context)
{
    uint32_t core = core_of(context);
    if (core < SL_MOST_CORES) sl_cores_turn_to(core);
    return core < SL_MOST_CORES;
}

bool sl_session_turn_to_device(CUdevice device)
{
    uint32_t count = atomic_load_explicit(&session.managed_count, memory_order_acquire);
    for (uint32_t c = 0; c < count; c++)
        if (session.managed[c].device == device && session.managed[c].context) {
            sl_cores_turn_to(c);
            return true;
        }
    return false;
}

/* The default streams belong to the current context. */
bool sl_session_turn_to_stream(CUstream stream)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUcontext context;
    if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD || !driver->stream_get_ctx)
        return true;
    switch (driver->stream_get_ctx(stream, &context)) {
    case CUDA_SUCCESS:
        return sl_session_turn_to_context(context);
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        return false;
    default: /* no answer: it may be a stream of the thread's core, whose work counts */
        return true;
    }
}

bool sl_session_owns_current_context(void)
{
    CUcontext current = NULL;
    uint32_t trusted = __atomic_load_n(&sl_session_view.trusted, __ATOMIC_RELAXED);
    /* Without an answer, a thread that calls has the context that all have: were its allocation left to the
     * driver, it would lie beside the chunks, and graphs that name both would refuse it. */
    if (sl_driver_functions()->ctx_get_current(&current) != CUDA_SUCCESS)
        return atomic_load_explicit(&session.managed_count, memory_order_acquire) &&
               trusted != SL_NEVER_TRUSTED;
    if (current && running() && core_of(current) == SL_MOST_CORES && !sl_context_known_beside(current))
        consider(current);
    bool owned = sl_session_turn_to_context(current);
    sl_thread_context = owned && trusted != SL_NEVER_TRUSTED ? trusted : 0;
    return owned;
}

bool sl_session_on_for_memory(void)
{
    if (!session.wiped && running()) see_what_process_this_is();
    return sl_session_awake() && sl_session_has_context();
}

bool sl_session_charges(void)
{
    CUdevice device;
    if (sl_session_on_for_memory()) return true;
    return running() && sl_driver_functions()->ctx_get_device(&device) == CUDA_SUCCESS &&
           sl_session_turn_to_device(device);
}

static uint32_t owner_of(uint64_t address)
{
    uint32_t owner = sl_thread_core;
    sl_cores_owner(address, &owner);
    return owner < session.managed_count ? owner : 0;
}

/* Makes the core's context current. *entered: the thread had another one. */
static __attribute__((noinline)) bool enter(uint32_t core, CUcontext wanted, bool *entered)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUcontext current = NULL;
    sl_cores_turn_to(core);
    if (driver->ctx_get_current(&current) == CUDA_SUCCESS && current == wanted) return true;
    *entered = driver->ctx_push_current(wanted) == CUDA_SUCCESS;
    return *entered;
}

/* A context that has ended needs no entering. */
bool sl_session_enter_core(uint32_t core, bool *entered)
{
    CUcontext wanted = session.managed[core].context;
    bool needless = !wanted || (sl_thread_core == core && sl_session_trusts_thread());
    *entered = false;
    return needless || enter(core, wanted, entered);
}

bool sl_session_enter(uint64_t address, bool *entered)
{
    *entered = false;
    return !running() || sl_session_enter_core(owner_of(address), entered);
}

static __attribute__((noinline)) void leave(void)
{
    CUcontext popped, before = NULL, current = NULL;
    const struct sl_cuda_driver *driver = sl_driver_functions();
    bool known = driver->ctx_get_current(&before) == CUDA_SUCCESS;
    /* A refused pop was made all the same if another context is current. */
    for (int t = 0; t < POPS; t++)
        if (driver->ctx_pop_current(&popped) == CUDA_SUCCESS || !known ||
            (driver->ctx_get_current(&current) == CUDA_SUCCESS && current != before))
            break;
    sl_session_context_changed(); /* the thread turned to the core of a context that is not its own */
}

void sl_session_leave(bool entered)
{
    if (entered) leave();
}

CUstream sl_session_own_stream(uint64_t address)
{
    return session.managed[owner_of(address)].own_stream;
}

bool sl_session_owns_part(uint64_t address, uint64_t bytes)
{
    uint64_t last = address + (bytes ? bytes - 1 : 0);
    if (last < address) last = UINT64_MAX;
    return __atomic_load_n(&sl_session_view.owns_memory, __ATOMIC_RELAXED) &&
           sl_runtime_owns_part(address, last);
}

bool sl_session_may_manage(CUdevice device)
{
    int concurrent = 0;
    switch (__atomic_load_n(&sl_session_view.state, __ATOMIC_ACQUIRE)) {
    case SL_SESSION_RUNNING:
        if (is_managed(device)) return true;
        if (sl_runtime_records_only()) return false;
        /* fall through */
    case SL_SESSION_WAITING: {
        const struct sl_cuda_driver *driver = sl_runtime_wanted() ? sl_driver_functions() : NULL;
        return driver &&
               driver->device_get_attribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                            device) == CUDA_SUCCESS &&
               concurrent;
    }
    default:
        return false;
    }
}

CUdevice sl_session_device(void)
{
    return session.managed[sl_thread_core].device;
}

CUdevice sl_session_device_of(uint64_t address)
{
    return session.managed[owner_of(address)].device;
}

CUcontext sl_session_context_of(uint64_t address)
{
    return session.managed[owner_of(address)].context;
}

void sl_session_context_made(CUcontext context)
{
    if (!running()) see_what_process_this_is();
    sl_context_made(context);
}

void sl_session_primary_retained(CUdevice device, CUcontext context)
{
    if (!running()) see_what_process_this_is();
    sl_context_retained(device, context);
}

static void context_ends(CUcontext context)
{
    if (!context) return;
    pthread_mutex_lock(&session.lock);
    uint32_t core = running() ? core_of(context) : SL_MOST_CORES;
    if (core < SL_MOST_CORES) {
        session.managed[core].context = NULL;
        session.managed[core].own_stream = NULL;
    }
    pthread_mutex_unlock(&session.lock);
    sl_context_gone(context);
    sl_charge_context_gone(context);
    if (core == SL_MOST_CORES) return;
    sl_contexts_reconsider(session.managed[core].device);
    sl_captured_memory_gone(core);
    sl_mappings_gone(core, session.managed[core].device);
    sl_pools_gone(core, session.managed[core].device);
    sl_runtime_stop_one(core, true);
}

void sl_session_context_ends(CUcontext context)
{
    if (!running()) see_what_process_this_is();
    if (!sl_context_is_primary(context)) context_ends(context);
}

void sl_session_primary_released(CUdevice device)
{
    if (!running()) see_what_process_this_is();
    context_ends(sl_context_released(device, false));
}

void sl_session_primary_reset(CUdevice device)
{
    if (!running()) see_what_process_this_is();
    context_ends(sl_context_released(device, true));
}

/* A child cannot use the parent's CUDA. If the parent had not started a session, the child may start its own.
 */
void sl_session_after_fork(void)
{
    pthread_mutex_init(&session.lock, NULL);
    sl_contexts_after_fork();
    if (session.process || __atomic_load_n(&sl_session_view.state, __ATOMIC_RELAXED) != SL_SESSION_WAITING)
        set_state(SL_SESSION_OVER);
    if (session.process) session.process = getpid();
    __atomic_store_n(&sl_session_view.owns_memory, false, __ATOMIC_RELAXED);
}
