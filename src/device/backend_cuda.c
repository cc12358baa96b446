#include "device/backend_cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_memory.h"
#include "base/locks.h"
#include "base/log.h"
#include "device/cuda_capturing.h"
#include "device/cuda_kernel.h"
#include "device/host_node.h"
#include "device/reserve.h"
#include "node/topology.h"

#define OLDEST_DRIVER 12020                  /* for cuMemAdvise_v2 and cuMemPrefetchAsync_v2 */
#define FREE_TRIES 8
#define LARGEST_PREFETCH_BYTES (32 * SL_MIB) /* each call holds the process's memory-map lock */

/* A slab starts at a multiple of 1 GiB in a reservation that is 1 GiB longer. The driver's own address is
 * kept to free it. Unpopulated managed memory costs addresses only. */
struct reservation {
    uint64_t slab, bytes;
    CUdeviceptr given;
    struct reservation *next;
};

struct cuda {
    const struct sl_cuda_driver *driver;
    CUcontext context;
    CUdevice device;
    enum sl_memory_use use;
    CUstream in, out;
    _Atomic int host_node; /* nearest to the device, if there are several; or -1 */
    struct reservation *reservations;
    struct cuda *next;
};

/* The backends of the process, one for each device; each may touch the slabs of the others. The lock guards
 * the list and all reservations. */
static struct {
    pthread_mutex_t lock;
    struct cuda *first;
    _Atomic bool several; /* more than one backend exists, or existed */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum sl_status judge(const struct cuda *cuda, CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return SL_OK;
    const char *name = NULL;
    if (cuda->driver->get_error_name(result, &name) != CUDA_SUCCESS || !name) name = "unknown error";
    static _Atomic bool said; /* one warning is enough of a driver that refuses often */
    bool again = atomic_exchange_explicit(&said, true, memory_order_relaxed);
    enum sl_log_level level = again ? SL_LOG_INFO : SL_LOG_WARN;
    sl_log(result == CUDA_ERROR_DEINITIALIZED ? SL_LOG_DEBUG : level, "%s: %s", what, name);
    return result == CUDA_ERROR_OUT_OF_MEMORY ? SL_ERR_NO_MEMORY : SL_ERR_DRIVER;
}

/* Our locks are held around driver calls, which may contain cancellation points: a thread that the program
 * cancels must not end there. */
#define UNCANCELLED(call)                                                                                    \
    ({                                                                                                       \
        int cancel_state_;                                                                                   \
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);                                      \
        __typeof__(call) result_ = (call);                                                                   \
        pthread_setcancelstate(cancel_state_, NULL);                                                         \
        result_;                                                                                             \
    })
#define check(cuda, call, what) judge(cuda, UNCANCELLED(call), what)

/* If another thread of the program captures a graph, such a call would fail and end the capture. The relaxed
 * mode prevents this; it is safe because the call concerns nothing captured. */
#define BESIDE_CAPTURES(driver, call)                                                                        \
    UNCANCELLED(({                                                                                           \
        CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;                                          \
        (driver)->stream_exchange_capture_mode(&mode_);                                                      \
        CUresult beside_ = (call);                                                                           \
        (driver)->stream_exchange_capture_mode(&mode_);                                                      \
        beside_;                                                                                             \
    }))

/* Default streams and new objects belong to the current context, which may be another device's if there are
 * several. */
enum entry { STAYED, ENTERED, REFUSED };
enum { TRIES = 8 };

static struct sl_answer is_current(const struct cuda *cuda)
{
    CUcontext current = NULL;
    if (cuda->driver->ctx_get_current(&current) != CUDA_SUCCESS) return sl_no_answer();
    return sl_answer_of(current == cuda->context);
}

static enum entry enter(const struct cuda *cuda)
{
    if (!atomic_load_explicit(&all.several, memory_order_relaxed) || sl_is_yes(is_current(cuda)))
        return STAYED;
    for (int t = 0; t < TRIES; t++)
        if (UNCANCELLED(cuda->driver->ctx_push_current(cuda->context)) == CUDA_SUCCESS ||
            sl_is_yes(is_current(cuda)))
            return ENTERED;
    return REFUSED;
}

static enum entry enter_for(const struct cuda *cuda, sl_stream stream)
{
    return (uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD ? enter(cuda) : STAYED;
}

static void leave(const struct cuda *cuda, enum entry entry)
{
    CUcontext popped;
    for (int t = 0; t < TRIES && entry == ENTERED; t++)
        if (UNCANCELLED(cuda->driver->ctx_pop_current(&popped)) == CUDA_SUCCESS || sl_is_no(is_current(cuda)))
            return;
}

/* The driver's answer to a call in the backend's context. */
#define IN_CONTEXT(cuda, how, call)                                                                          \
    ({                                                                                                       \
        enum entry entered_ = (how);                                                                         \
        CUresult inside_ = entered_ == REFUSED ? CUDA_ERROR_INVALID_CONTEXT : (call);                        \
        leave(cuda, entered_);                                                                               \
        inside_;                                                                                             \
    })

static CUmemLocation host_location(const struct cuda *cuda)
{
    int node = atomic_load_explicit(&cuda->host_node, memory_order_relaxed);
    if (node < 0) return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST};
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = node};
}

/* Called when the driver refused `to`. If `to` is a node, falls back to any host memory from here on. False:
 * there is nothing else to try. */
static bool leaves_node(struct cuda *cuda, CUmemLocation *to)
{
    if (to->type != CU_MEM_LOCATION_TYPE_HOST_NUMA) return false;
    if (atomic_exchange(&cuda->host_node, -1) >= 0)
        sl_log(SL_LOG_INFO, "NUMA node %d takes no more: host memory is wherever the driver puts it", to->id);
    *to = host_location(cuda);
    return true;
}

static CUmemLocation device_location(const struct cuda *cuda)
{
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = cuda->device};
}

/* Prefers host memory and maps it for the device: nothing becomes resident unless it is fetched. */
static enum sl_status keep_from_moving(struct cuda *cuda, CUdeviceptr slab, uint64_t bytes)
{
    const struct sl_cuda_driver *driver = cuda->driver;
    CUmemLocation host = host_location(cuda);
    CUmem_advise advice = CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
    CUresult result = UNCANCELLED(driver->mem_advise(slab, bytes, advice, host));
    if (result != CUDA_SUCCESS && leaves_node(cuda, &host))
        result = UNCANCELLED(driver->mem_advise(slab, bytes, advice, host));
    enum sl_status status = judge(cuda, result, "cuMemAdvise (preferred location)");
    if (status) return status;
    return check(cuda, driver->mem_advise(slab, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, device_location(cuda)),
                 "cuMemAdvise (accessed by)");
}

/* Maps the slab for another device. Without this, memory that the device touches would move home to the
 * host. */
static void let_in(const struct cuda *guest, uint64_t slab, uint64_t bytes)
{
    if (guest->use == SL_MEMORY_MOVED)
        UNCANCELLED(
            guest->driver->mem_advise(slab, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, device_location(guest)));
}

/* Adds the slab to the list and maps it for the other devices. */
static void add_slab(struct cuda *cuda, struct reservation *reservation)
{
    pthread_mutex_lock(&all.lock);
    reservation->next = cuda->reservations;
    cuda->reservations = reservation;
    for (const struct cuda *other = all.first; other; other = other->next)
        if (other != cuda) let_in(other, reservation->slab, reservation->bytes);
    pthread_mutex_unlock(&all.lock);
}

static enum sl_status slab_new(void *self, uint64_t bytes, uint64_t *address)
{
    struct cuda *cuda = self;
    const struct sl_cuda_driver *driver = cuda->driver;
    struct reservation *reservation = malloc(sizeof *reservation);
    if (!reservation) return SL_ERR_NO_MEMORY;
    CUdeviceptr given;
    CUresult result = IN_CONTEXT(
        cuda, enter(cuda),
        BESIDE_CAPTURES(driver, driver->mem_alloc_managed(&given, bytes + SL_GIB, CU_MEM_ATTACH_GLOBAL)));
    enum sl_status status = judge(cuda, result, "cuMemAllocManaged");
    if (status) {
        free(reservation);
        return status;
    }
    CUdeviceptr slab = (given + SL_GIB - 1) & ~(CUdeviceptr)(SL_GIB - 1);
    if (cuda->use == SL_MEMORY_MOVED) status = keep_from_moving(cuda, slab, bytes);
    if (status) {
        driver->mem_free(given);
        free(reservation);
        return status;
    }
    *reservation = (struct reservation){.slab = slab, .bytes = bytes, .given = given};
    add_slab(cuda, reservation);
    *address = slab;
    return SL_OK;
}

static void slab_delete(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda *cuda = self;
    struct reservation *found = NULL;
    (void)bytes;
    pthread_mutex_lock(&all.lock);
    for (struct reservation **at = &cuda->reservations; *at && !found; at = &(*at)->next) {
        if ((*at)->slab != address) continue;
        found = *at;
        *at = found->next;
        break;
    }
    pthread_mutex_unlock(&all.lock);
    /* The driver may be about to get the addresses for something else, so a refused free is tried again. */
    CUresult result = found ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
    for (int tries = FREE_TRIES; result != CUDA_SUCCESS && tries > 0; tries--)
        result = UNCANCELLED(cuda->driver->mem_free(found->given));
    judge(cuda, result, "cuMemFree");
    free(found);
}

/* Does not use cuMemHostAlloc: each GiB of addresses must be ours as a whole or not at all. */
static enum sl_status pinned_new(void *self, uint64_t bytes, uint64_t *address)
{
    const struct cuda *cuda = self;
    const struct sl_cuda_driver *driver = cuda->driver;
    unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    uint64_t begin;
    CUdeviceptr seen;
    if (!driver->mem_host_register || !driver->mem_host_unregister || !driver->mem_host_get_device_pointer)
        return SL_ERR_UNSUPPORTED;
    enum sl_status status = sl_reserve(bytes, &begin);
    if (status) return status;
    sl_host_node_prefer(begin, bytes, atomic_load_explicit(&cuda->host_node, memory_order_relaxed));
    CUresult result = IN_CONTEXT(
        cuda, enter(cuda), BESIDE_CAPTURES(driver, driver->mem_host_register((void *)begin, bytes, flags)));
    status = judge(cuda, result, "cuMemHostRegister");
    if (status) {
        sl_unreserve(begin, bytes);
        return status;
    }
    status = check(cuda, driver->mem_host_get_device_pointer(&seen, (void *)begin, 0),
                   "cuMemHostGetDevicePointer");
    if (status == SL_OK && seen != begin) status = SL_ERR_UNSUPPORTED;
    if (status) {
        UNCANCELLED(driver->mem_host_unregister((void *)begin));
        sl_unreserve(begin, bytes);
        return status;
    }
    *address = begin;
    return SL_OK;
}

static void pinned_delete(void *self, uint64_t address, uint64_t bytes)
{
    const struct cuda *cuda = self;
    check(cuda, cuda->driver->mem_host_unregister((void *)address), "cuMemHostUnregister");
    sl_unreserve(address, bytes);
}

static sl_stream stream_in(void *self)
{
    return ((struct cuda *)self)->in;
}
static sl_stream stream_out(void *self)
{
    return ((struct cuda *)self)->out;
}

static enum sl_status prefetch(struct cuda *cuda, uint64_t address, uint64_t bytes, CUmemLocation to,
                               CUstream stream)
{
    sl_check_may_enqueue();
    const struct sl_cuda_driver *driver = cuda->driver;
    for (uint64_t at = 0; at < bytes; at += LARGEST_PREFETCH_BYTES) {
        uint64_t piece = bytes - at < LARGEST_PREFETCH_BYTES ? bytes - at : LARGEST_PREFETCH_BYTES;
        CUresult result = UNCANCELLED(driver->mem_prefetch(address + at, piece, to, 0, stream));
        if (result != CUDA_SUCCESS && leaves_node(cuda, &to))
            result = UNCANCELLED(driver->mem_prefetch(address + at, piece, to, 0, stream));
        enum sl_status status = judge(cuda, result, "cuMemPrefetchAsync");
        if (status) return status;
    }
    return SL_OK;
}

static enum sl_status fetch(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda *cuda = self;
    return prefetch(cuda, address, bytes, device_location(cuda), cuda->in);
}

static enum sl_status evict(void *self, uint64_t address, uint64_t bytes)
{
    struct cuda *cuda = self;
    return prefetch(cuda, address, bytes, host_location(cuda), cuda->out);
}

static enum sl_status discard(void *self, uint64_t address, uint64_t bytes)
{
    sl_check_may_enqueue();
    const struct cuda *cuda = self;
    if (!cuda->driver->mem_discard_batch) return evict(self, address, bytes);
    CUdeviceptr pointer = address;
    size_t size = bytes;
    return check(cuda, cuda->driver->mem_discard_batch(&pointer, &size, 1, 0, cuda->out),
                 "cuMemDiscardBatchAsync");
}

/* With CU_EVENT_BLOCKING_SYNC a host wait sleeps. Without it each daemon thread would keep a core busy. */
static enum sl_status create_event(const struct cuda *cuda, unsigned flags, sl_event_handle *out)
{
    CUevent event;
    flags |= CU_EVENT_BLOCKING_SYNC;
    enum sl_status status =
        judge(cuda, IN_CONTEXT(cuda, enter(cuda), UNCANCELLED(cuda->driver->event_create(&event, flags))),
              "cuEventCreate");
    if (status == SL_OK) *out = event;
    return status;
}

static enum sl_status event_new(void *self, sl_event_handle *out)
{
    return create_event(self, CU_EVENT_DISABLE_TIMING, out);
}

static enum sl_status timed_event_new(void *self, sl_event_handle *out)
{
    return create_event(self, CU_EVENT_DEFAULT, out);
}

static void event_delete(void *self, sl_event_handle event)
{
    ((struct cuda *)self)->driver->event_destroy(event);
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream stream)
{
    sl_check_may_enqueue();
    const struct cuda *cuda = self;
    CUresult result =
        IN_CONTEXT(cuda, enter_for(cuda, stream), UNCANCELLED(cuda->driver->event_record(event, stream)));
    return judge(cuda, result, "cuEventRecord");
}

static enum sl_status stream_wait(void *self, sl_stream stream, sl_event_handle event)
{
    sl_check_may_enqueue();
    const struct cuda *cuda = self;
    CUresult result = IN_CONTEXT(cuda, enter_for(cuda, stream),
                                 UNCANCELLED(cuda->driver->stream_wait_event(stream, event, 0)));
    return judge(cuda, result, "cuStreamWaitEvent");
}

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    const struct sl_cuda_driver *driver = ((struct cuda *)self)->driver;
    CUresult result = BESIDE_CAPTURES(driver, driver->event_query(event));
    bool answered = result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY;
    return answered ? sl_answer_of(result == CUDA_SUCCESS) : sl_no_answer();
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    const struct cuda *cuda = self;
    return judge(cuda, BESIDE_CAPTURES(cuda->driver, cuda->driver->event_synchronize(event)),
                 "cuEventSynchronize");
}

static uint64_t event_elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    float milliseconds = 0;
    const struct sl_cuda_driver *driver = ((struct cuda *)self)->driver;
    if (UNCANCELLED(driver->event_elapsed_time(&milliseconds, from, to)) != CUDA_SUCCESS) return 0;
    return milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
}

static enum sl_status stream_finish(void *self, sl_stream stream)
{
    const struct cuda *cuda = self;
    const struct sl_cuda_driver *driver = cuda->driver;
    CUresult result = IN_CONTEXT(cuda, enter_for(cuda, stream),
                                 BESIDE_CAPTURES(driver, driver->stream_synchronize(stream)));
    return judge(cuda, result, "cuStreamSynchronize");
}

static struct sl_answer stream_loose(void *self, sl_stream stream)
{
    const struct cuda *cuda = self;
    unsigned flags = 0;
    if (!cuda->driver->stream_get_flags || cuda->driver->stream_get_flags(stream, &flags) != CUDA_SUCCESS)
        return sl_no_answer();
    return sl_answer_of(flags & CU_STREAM_NON_BLOCKING);
}

static struct sl_answer stream_capturing(void *self, sl_stream stream)
{
    const struct cuda *cuda = self;
    enum entry entered = enter_for(cuda, stream);
    struct sl_answer answer =
        entered == REFUSED ? sl_no_answer() : sl_cuda_capturing(cuda->driver, stream, NULL);
    leave(cuda, entered);
    return answer;
}

static enum sl_status kernel_layout(void *self, uint64_t function, struct sl_kernel_layout *out)
{
    return UNCANCELLED(sl_cuda_kernel_layout(((struct cuda *)self)->driver, function, out));
}

/* Queries the memory of this backend's device, whatever context the calling thread has. */
static CUresult ask_for_memory(const struct cuda *cuda, size_t *free_size, size_t *total_size)
{
    const struct sl_cuda_driver *driver = cuda->driver;
    CUcontext current = NULL;
    if (driver->ctx_get_current(&current) == CUDA_SUCCESS && current == cuda->context)
        return driver->mem_get_info(free_size, total_size);
    CUresult result = driver->ctx_push_current(cuda->context);
    if (result != CUDA_SUCCESS) return result;
    result = driver->mem_get_info(free_size, total_size);
    driver->ctx_pop_current(&current);
    return result;
}

static enum sl_status memory_info(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const struct cuda *cuda = self;
    size_t free_size, total_size;
    enum sl_status status = judge(
        cuda, BESIDE_CAPTURES(cuda->driver, ask_for_memory(cuda, &free_size, &total_size)), "cuMemGetInfo");
    if (status) return status;
    *free_bytes = free_size;
    *total_bytes = total_size;
    return SL_OK;
}

static void describe(void *self, struct sl_device_properties *out)
{
    const struct cuda *cuda = self;
    if (!cuda->driver->device_get_name ||
        cuda->driver->device_get_name(out->name, sizeof out->name, cuda->device) != CUDA_SUCCESS)
        out->name[0] = 0;
    if (cuda->driver->driver_get_version(&out->driver_version) != CUDA_SUCCESS) out->driver_version = 0;
}

static enum sl_status thread_attach(void *self)
{
    const struct cuda *cuda = self;
    /* Lets the program capture a graph in another thread while this one works. */
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    cuda->driver->stream_exchange_capture_mode(&mode);
    return check(cuda, cuda->driver->ctx_set_current(cuda->context), "cuCtxSetCurrent");
}

static void leave_list(struct cuda *cuda)
{
    pthread_mutex_lock(&all.lock);
    for (struct cuda **at = &all.first; *at; at = &(*at)->next)
        if (*at == cuda) {
            *at = cuda->next;
            break;
        }
    pthread_mutex_unlock(&all.lock);
}

/* Adds the backend to the list and maps the other devices' slabs for it. */
static void join_list(struct cuda *cuda)
{
    pthread_mutex_lock(&all.lock);
    if (all.first) atomic_store(&all.several, true);
    for (const struct cuda *other = all.first; other; other = other->next)
        for (const struct reservation *slab = other->reservations; slab; slab = slab->next)
            let_in(cuda, slab->slab, slab->bytes);
    cuda->next = all.first;
    all.first = cuda;
    pthread_mutex_unlock(&all.lock);
}

static void close_backend(void *self)
{
    struct cuda *cuda = self;
    if (!cuda) return;
    leave_list(cuda);
    if (cuda->in) cuda->driver->stream_destroy(cuda->in);
    if (cuda->out) cuda->driver->stream_destroy(cuda->out);
    free(cuda);
}

static enum sl_status check_device(const struct cuda *cuda)
{
    const struct sl_cuda_driver *driver = cuda->driver;
    int version = 0, concurrent = 0;
    enum sl_status status = check(cuda, driver->driver_get_version(&version), "cuDriverGetVersion");
    if (status) return status;
    if (version < OLDEST_DRIVER) {
        sl_log(SL_LOG_WARN, "the driver supports CUDA %d.%d; %d.%d or newer is needed", version / 1000,
               version % 1000 / 10, OLDEST_DRIVER / 1000, OLDEST_DRIVER % 1000 / 10);
        return SL_ERR_UNSUPPORTED;
    }
    status = check(cuda,
                   driver->device_get_attribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                                cuda->device),
                   "cuDeviceGetAttribute");
    if (status == SL_OK && cuda->use != SL_MEMORY_NOTED && !concurrent) {
        sl_log(SL_LOG_WARN, "the device has no concurrent managed access");
        return SL_ERR_UNSUPPORTED;
    }
    return status;
}

static bool place(void *self, struct sl_device_place *out)
{
    const struct cuda *cuda = self;
    static const CUdevice_attribute attributes[] = {
        CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
    int at[3];
    for (int i = 0; i < 3; i++)
        if (cuda->driver->device_get_attribute(&at[i], attributes[i], cuda->device) != CUDA_SUCCESS ||
            at[i] < 0)
            return false;
    *out = (struct sl_device_place){(uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2]};
    return true;
}

/* The nearest node if there are several; or -1. `sysfs`: where the kernel shows devices. */
static int nearest_node(struct cuda *cuda, const char *sysfs)
{
    struct sl_device_place at;
    int driver_says = -1;
    if (cuda->driver->device_get_attribute(&driver_says, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, cuda->device) !=
        CUDA_SUCCESS)
        driver_says = -1;
    int kernel_says =
        driver_says < 0 && place(cuda, &at) ? sl_topology_node(sysfs, at.domain, at.bus, at.device) : -1;
    return sl_host_node_nearest(driver_says, kernel_says, sl_host_has_nodes(sysfs));
}

enum sl_status sl_backend_cuda_new(const struct sl_cuda_driver *driver, enum sl_memory_use use,
                                   const char *sysfs, struct sl_backend *out)
{
    struct cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda) return SL_ERR_NO_MEMORY;
    cuda->driver = driver;
    cuda->use = use;
    enum sl_status status = check(cuda, driver->ctx_get_current(&cuda->context), "cuCtxGetCurrent");
    if (status == SL_OK) status = check(cuda, driver->ctx_get_device(&cuda->device), "cuCtxGetDevice");
    if (status == SL_OK) status = check_device(cuda);
    cuda->host_node = status == SL_OK ? nearest_node(cuda, sysfs) : -1;
    if (status == SL_OK)
        status = check(cuda, driver->stream_create(&cuda->in, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    if (status == SL_OK)
        status = check(cuda, driver->stream_create(&cuda->out, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    if (status) {
        close_backend(cuda);
        return status;
    }
    join_list(cuda);
    *out = (struct sl_backend){
        .self = cuda,
        .slab_new = slab_new,
        .slab_delete = slab_delete,
        .pinned_new = pinned_new,
        .pinned_delete = pinned_delete,
        .stream_in = stream_in,
        .stream_out = stream_out,
        .fetch = fetch,
        .evict = evict,
        .discard = discard,
        .event_new = event_new,
        .timed_event_new = timed_event_new,
        .event_delete = event_delete,
        .event_record = event_record,
        .stream_wait = stream_wait,
        .event_done = event_done,
        .event_wait = event_wait,
        .stream_finish = stream_finish,
        .event_elapsed_ns = event_elapsed_ns,
        .stream_capturing = stream_capturing,
        .stream_loose = stream_loose,
        .kernel_layout = kernel_layout,
        .memory_info = memory_info,
        .describe = describe,
        .place = place,
        .thread_attach = thread_attach,
        .close = close_backend,
    };
    return SL_OK;
}
