#include "session.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "device/backend_cuda.h"
#include "driver.h"
#include "init.h"

#define MAX_DEVICES 64
#define MOST_OTHERS 32 /* maximum number of contexts known not to be managed */

struct sl_session_view sl_session_view;

static struct {
    pthread_mutex_t lock; /* guards all members below, except those that are read after the start */
    struct {
        CUcontext _Atomic context; /* NULL: none yet, or it has ended */
        CUdevice device;
    } managed[SL_MOST_CORES]; /* by the core's number; the first is set before the state says running */
    _Atomic uint32_t managed_count;
    CUcontext _Atomic others[MOST_OTHERS];
    /* Read without the lock, while another thread may start the session. */
    _Atomic pid_t process;   /* process of the session; 0: not started */
    _Atomic bool wiped;      /* a forked child finds the view zeroed */
    CUcontext first_context; /* the first context that this process created */
    struct {
        CUcontext context;
        unsigned retains;
    } primary[MAX_DEVICES];
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
    session.wiped = sl_forget_in_children(&sl_session_view, sizeof sl_session_view);
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

__thread bool sl_thread_had_context __attribute__((tls_model("initial-exec")));

/* The core of a managed context, or SL_MOST_CORES. */
static uint32_t core_of(CUcontext context)
{
    uint32_t count = atomic_load_explicit(&session.managed_count, memory_order_acquire);
    for (uint32_t c = 0; c < count && context; c++)
        if (session.managed[c].context == context) return c;
    return SL_MOST_CORES;
}

static bool is_other(CUcontext context)
{
    for (uint32_t i = 0; i < MOST_OTHERS; i++)
        if (session.others[i] == context) return true;
    return false;
}

static void note_other(CUcontext context)
{
    for (uint32_t i = 0; i < MOST_OTHERS; i++)
        if (!session.others[i]) {
            session.others[i] = context;
            return;
        }
}

static bool was_managed(CUdevice device)
{
    for (uint32_t c = 0; c < session.managed_count; c++)
        if (session.managed[c].device == device) return true;
    return false;
}

/* Precondition: session.lock is held and `context` is current. */
static bool start_another(CUcontext context)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    struct sl_backend backend;
    CUdevice device;
    uint32_t number;
    if (sl_runtime_records_only() || session.managed_count >= SL_MOST_CORES ||
        driver->ctx_get_device(&device) != CUDA_SUCCESS || was_managed(device) ||
        sl_backend_cuda_new(driver, sl_runtime_memory(), sl_runtime_sysfs(), &backend) != SL_OK)
        return false;
    session.managed[session.managed_count].device = device;
    __atomic_store_n(&sl_session_view.several_devices, true, __ATOMIC_RELAXED);
    if (sl_runtime_start_another(&backend, &number) != SL_OK) return false;
    session.managed[number].context = context;
    atomic_store_explicit(&session.managed_count, number + 1, memory_order_release);
    return true;
}

/* Handles an unknown context: the first of a device becomes managed, others do not. */
static void consider(CUcontext context)
{
    static __thread bool considering __attribute__((tls_model("initial-exec")));
    int cancel_state;
    if (considering || session.process != getpid()) return;
    considering = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_lock(&session.lock);
    if (running() && core_of(context) == SL_MOST_CORES && !is_other(context) && !start_another(context))
        note_other(context);
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
    return driver->stream_get_ctx(stream, &context) == CUDA_SUCCESS && sl_session_turn_to_context(context);
}

bool sl_session_owns_current_context(void)
{
    CUcontext current = NULL;
    /* Without an answer, a thread that calls has the context that all have: were its allocation left to the
     * driver, it would lie beside the chunks, and graphs that name both would refuse it. */
    if (sl_driver_functions()->ctx_get_current(&current) != CUDA_SUCCESS)
        return atomic_load_explicit(&session.managed_count, memory_order_acquire) &&
               !__atomic_load_n(&sl_session_view.several_contexts, __ATOMIC_RELAXED);
    if (current && running() && core_of(current) == SL_MOST_CORES && !is_other(current)) consider(current);
    sl_thread_had_context = sl_session_turn_to_context(current);
    return sl_thread_had_context;
}

bool sl_session_on_for_memory(void)
{
    if (!session.wiped && running()) see_what_process_this_is();
    return sl_session_awake() && sl_session_has_context();
}

static uint32_t owner_of(uint64_t address)
{
    uint32_t owner = sl_thread_core;
    sl_cores_owner(address, &owner);
    return owner < session.managed_count ? owner : 0;
}

bool sl_session_enter(uint64_t address)
{
    if (!running()) return false;
    uint32_t owner = owner_of(address);
    if (sl_session_has_context() && sl_thread_core == owner) return false;
    sl_cores_turn_to(owner);
    return sl_driver_functions()->ctx_push_current(session.managed[owner].context) == CUDA_SUCCESS;
}

void sl_session_leave(bool entered)
{
    CUcontext popped;
    if (entered) sl_driver_functions()->ctx_pop_current(&popped);
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
        if (was_managed(device)) return true;
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

/* Precondition: session.lock is held. */
static void note_context(CUcontext context)
{
    if (!session.first_context) session.first_context = context;
    if (context != session.first_context)
        __atomic_store_n(&sl_session_view.several_contexts, true, __ATOMIC_RELAXED);
}

void sl_session_context_made(CUcontext context)
{
    if (!running()) see_what_process_this_is();
    pthread_mutex_lock(&session.lock);
    note_context(context);
    pthread_mutex_unlock(&session.lock);
}

void sl_session_primary_retained(CUdevice device, CUcontext context)
{
    if (!running()) see_what_process_this_is();
    pthread_mutex_lock(&session.lock);
    note_context(context);
    if (device >= 0 && device < MAX_DEVICES) {
        session.primary[device].context = context;
        session.primary[device].retains++;
    }
    pthread_mutex_unlock(&session.lock);
}

/* Whether no context is managed any more. Precondition: session.lock is held. */
static bool none_left(void)
{
    for (uint32_t c = 0; c < session.managed_count; c++)
        if (session.managed[c].context) return false;
    return true;
}

void sl_session_context_ends(CUcontext context)
{
    if (!running()) see_what_process_this_is();
    pthread_mutex_lock(&session.lock);
    uint32_t core = running() ? core_of(context) : SL_MOST_CORES;
    bool last = false;
    if (core < SL_MOST_CORES && session.managed_count > 1) session.managed[core].context = NULL;
    if (core < SL_MOST_CORES) last = session.managed_count == 1 || none_left();
    if (last) set_state(SL_SESSION_OVER);
    for (uint32_t i = 0; i < MOST_OTHERS && context; i++)
        if (session.others[i] == context) session.others[i] = NULL;
    pthread_mutex_unlock(&session.lock);
    if (core < SL_MOST_CORES) sl_runtime_stop_one(core, true);
    if (last) __atomic_store_n(&sl_session_view.owns_memory, false, __ATOMIC_RELAXED);
}

/* The primary context of `device` if this release, or a reset, ends it; otherwise NULL. */
static CUcontext take_primary(CUdevice device, bool reset)
{
    CUcontext gone = NULL;
    if (!running()) see_what_process_this_is();
    pthread_mutex_lock(&session.lock);
    if (device >= 0 && device < MAX_DEVICES && session.primary[device].retains) {
        unsigned left = reset ? 0 : session.primary[device].retains - 1;
        session.primary[device].retains = left;
        if (!left) gone = session.primary[device].context;
    }
    pthread_mutex_unlock(&session.lock);
    return gone;
}

void sl_session_primary_released(CUdevice device)
{
    sl_session_context_ends(take_primary(device, false));
}

void sl_session_primary_reset(CUdevice device)
{
    sl_session_context_ends(take_primary(device, true));
}

/* A child cannot use the parent's CUDA. If the parent had not started a session, the child may start its own.
 */
void sl_session_after_fork(void)
{
    pthread_mutex_init(&session.lock, NULL);
    if (session.process || __atomic_load_n(&sl_session_view.state, __ATOMIC_RELAXED) != SL_SESSION_WAITING)
        set_state(SL_SESSION_OVER);
    if (session.process) session.process = getpid();
    __atomic_store_n(&sl_session_view.owns_memory, false, __ATOMIC_RELAXED);
}
