#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "capture.h"
#include "kernel_profile.h"
#include "neighbours.h"
#include "program_time.h"
#include "queue.h"
#include "races.h"
#include "stats.h"
#include "touched.h"

pthread_mutex_t sc_driver_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    bool initialised, forked, finished;
    _Atomic bool watched; /* read without the lock, possibly while another thread initialises the driver */
    struct sc_thread *threads;
    pthread_key_t key;
} driver;

/* The kernel zeroes this page in a child that clone() created without running the fork handlers. */
#define PAGE_BYTES 65536 /* the largest page size */
static struct {
    bool alive;
} __attribute__((aligned(PAGE_BYTES))) here;

static _Thread_local struct sc_thread *self;
static _Thread_local bool in_callback;
static _Thread_local bool holds_lock;

void sc_lock(void)
{
    pthread_mutex_lock(&sc_driver_lock);
    holds_lock = true;
    sc_program_time_pause();
}

void sc_unlock(void)
{
    sc_program_time_go_on();
    holds_lock = false;
    pthread_mutex_unlock(&sc_driver_lock);
}

/* The child gets a free lock, and no buffered lines of the timeline, which its exit would write again. */
static void before_fork(void)
{
    sc_lock();
    sc_timeline_flush();
    sc_touched_flush();
}

/* A child has the memory of an initialised driver but none of its threads: it may not use CUDA, as with the
 * vendor's driver. */
static void in_child(void)
{
    driver.forked = true;
    sc_unlock();
}

static bool is_child(void)
{
    return driver.forked || (driver.watched && !here.alive);
}

static void thread_ends(void *thread)
{
    sc_lock();
    ((struct sc_thread *)thread)->gone = true;
    sc_unlock();
}

struct sc_thread *sc_threads(void)
{
    return driver.threads;
}

struct sc_thread *sc_self(void)
{
    if (self) return self;
    struct sc_thread *thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    thread->next = driver.threads;
    driver.threads = thread;
    pthread_setspecific(driver.key, thread);
    self = thread;
    return self;
}

void sc_set_in_callback(bool inside)
{
    in_callback = inside;
}

static CUresult enter(enum sc_need need, uint64_t host_ns)
{
    if (is_child()) return CUDA_ERROR_NOT_INITIALIZED;
    if (in_callback) return CUDA_ERROR_NOT_PERMITTED;
    sc_lock();
    CUresult result = CUDA_SUCCESS;
    if (driver.finished)
        result = CUDA_ERROR_DEINITIALIZED;
    else if (need != SC_NEED_NOTHING && !driver.initialised)
        result = CUDA_ERROR_NOT_INITIALIZED;
    if (!result && driver.initialised) {
        struct sc_thread *thread = sc_self();
        if (thread)
            thread->pending_ns += host_ns;
        else
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!result && need >= SC_NEED_CONTEXT) {
        struct sc_thread *thread = sc_self();
        struct sc_context *context = sc_current();
        if (context)
            result = context->sticky;
        else
            result = thread->depth ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!result && need == SC_NEED_SAFE) result = sc_capture_unsafe();
    if (result) sc_unlock();
    return result;
}

CUresult sc_enter(enum sc_need need)
{
    return enter(need, sc_options()->call_ns);
}

CUresult sc_enter_query(enum sc_need need)
{
    return enter(need, sc_options()->query_ns);
}

bool sc_interrupt(void)
{
    if (holds_lock || in_callback || is_child()) return false;
    sc_lock();
    if (driver.initialised && !driver.finished && sc_self()) return true;
    sc_unlock();
    return false;
}

static CUresult initialise(void)
{
    if (!sc_space_open()) {
        sc_log("cannot reserve the device's address space");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sc_devices_open();
    sc_neighbours_open();
    if (!sc_device_count()) return CUDA_ERROR_NO_DEVICE;
    if (pthread_key_create(&driver.key, thread_ends)) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_atfork(before_fork, sc_unlock, in_child);
    here.alive = true;
    driver.watched = madvise(&here, sizeof here, MADV_WIPEONFORK) == 0;
    if (sc_options()->verbose) sc_options_log(sc_options());
    sc_touched_init();
    sc_program_time_counts = sc_options()->sampled;
    if (sc_options()->sampled) sc_engine_note_touches();
    sc_races_init();
    sc_trap_init();
    driver.initialised = true;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_NOTHING);
    if (result) return result;
    return sc_leave(driver.initialised ? CUDA_SUCCESS : initialise());
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = sc_options()->driver_version;
    return CUDA_SUCCESS;
}

CUresult sc_refuse(const char *function, const char *what)
{
    sc_log("%s: %s is not implemented", function, what);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* Runs when the process ends, or when the library is unloaded. */
__attribute__((destructor)) static void finish(void)
{
    if (is_child()) return;
    sc_lock();
    if (driver.initialised && !driver.finished) {
        driver.finished = true;
        sc_queue_close();
        sc_stats_write();
        sc_kernel_profile_write();
        sc_timeline_close();
        sc_touched_close();
        sc_races_close();
        sc_neighbours_close();
    }
    sc_unlock();
}
