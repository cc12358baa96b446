#include "device/backend_cuda.h"

#include <stdlib.h>

#include "base/host_memory.h"
#include "base/locks.h"
#include "base/log.h"
#include "base/map.h"
#include "device/cuda_call.h"
#include "node/topology.h"

#define LARGEST_PREFETCH_BYTES (32 * SL_MIB) /* each call holds the process's memory-map lock */

static sl_stream stream_in(void *self)
{
    return ((struct sl_cuda *)self)->in;
}
static sl_stream stream_out(void *self)
{
    return ((struct sl_cuda *)self)->out;
}

static enum sl_status stream_new(void *self, sl_stream *out)
{
    struct sl_cuda *cuda = self;
    CUstream stream;
    enum sl_status status = SL_CUDA_CHECK(
        cuda, cuda->driver->stream_create(&stream, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    if (status == SL_OK) *out = stream;
    return status;
}

static void stream_delete(void *self, sl_stream stream)
{
    ((struct sl_cuda *)self)->driver->stream_destroy(stream);
}

static enum sl_status prefetch(struct sl_cuda *cuda, uint64_t address, uint64_t bytes, CUmemLocation to,
                               CUstream stream)
{
    sl_check_may_move();
    const struct sl_cuda_driver *driver = cuda->driver;
    for (uint64_t at = 0; at < bytes; at += LARGEST_PREFETCH_BYTES) {
        uint64_t piece = bytes - at < LARGEST_PREFETCH_BYTES ? bytes - at : LARGEST_PREFETCH_BYTES;
        CUresult result =
            SL_UNCANCELLED(SL_PERSIST(driver->mem_prefetch(address + at, piece, to, 0, stream)));
        if (result != CUDA_SUCCESS && sl_cuda_leaves_node(cuda, &to))
            result = SL_UNCANCELLED(SL_PERSIST(driver->mem_prefetch(address + at, piece, to, 0, stream)));
        enum sl_status status = sl_cuda_judge(cuda->driver, result, "cuMemPrefetchAsync");
        if (status) return status;
    }
    return SL_OK;
}

static enum sl_status fetch(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    struct sl_cuda *cuda = self;
    return prefetch(cuda, address, bytes, sl_cuda_device(cuda), stream);
}

static enum sl_status evict(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    struct sl_cuda *cuda = self;
    return prefetch(cuda, address, bytes, sl_cuda_host(cuda), stream);
}

static enum sl_status discard(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    sl_check_may_move();
    const struct sl_cuda *cuda = self;
    if (!cuda->driver->mem_discard_batch) return evict(self, address, bytes, stream);
    CUdeviceptr pointer = address;
    size_t size = bytes;
    return SL_CUDA_CHECK(cuda, SL_PERSIST(cuda->driver->mem_discard_batch(&pointer, &size, 1, 0, stream)),
                         "cuMemDiscardBatchAsync");
}

/* With CU_EVENT_BLOCKING_SYNC a host wait sleeps. Without it each daemon thread would keep a core busy. */
static enum sl_status create_event(const struct sl_cuda *cuda, unsigned flags, sl_event_handle *out)
{
    CUevent event;
    flags |= CU_EVENT_BLOCKING_SYNC;
    enum sl_status status = sl_cuda_judge(
        cuda->driver,
        SL_IN_CONTEXT(cuda, sl_cuda_enter(cuda), SL_UNCANCELLED(cuda->driver->event_create(&event, flags))),
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
    ((struct sl_cuda *)self)->driver->event_destroy(event);
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream stream)
{
    sl_check_may_enqueue();
    const struct sl_cuda *cuda = self;
    CUresult result = SL_IN_CONTEXT(cuda, sl_cuda_enter_for(cuda, stream),
                                    SL_UNCANCELLED(cuda->driver->event_record(event, stream)));
    return sl_cuda_judge(cuda->driver, result, "cuEventRecord");
}

static enum sl_status stream_wait(void *self, sl_stream stream, sl_event_handle event)
{
    sl_check_may_enqueue();
    const struct sl_cuda *cuda = self;
    CUresult result = SL_IN_CONTEXT(cuda, sl_cuda_enter_for(cuda, stream),
                                    SL_UNCANCELLED(cuda->driver->stream_wait_event(stream, event, 0)));
    return sl_cuda_judge(cuda->driver, result, "cuStreamWaitEvent");
}

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    const struct sl_cuda_driver *driver = ((struct sl_cuda *)self)->driver;
    CUresult result = SL_BESIDE_CAPTURES(driver, driver->event_query(event));
    bool answered = result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY;
    return answered ? sl_answer_of(result == CUDA_SUCCESS) : sl_no_answer();
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    const struct sl_cuda *cuda = self;
    return sl_cuda_judge(cuda->driver,
                         SL_BESIDE_CAPTURES(cuda->driver, cuda->driver->event_synchronize(event)),
                         "cuEventSynchronize");
}

static uint64_t event_elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    float milliseconds = 0;
    const struct sl_cuda_driver *driver = ((struct sl_cuda *)self)->driver;
    if (SL_UNCANCELLED(driver->event_elapsed_time(&milliseconds, from, to)) != CUDA_SUCCESS) return 0;
    return milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
}

static enum sl_status stream_finish(void *self, sl_stream stream)
{
    const struct sl_cuda *cuda = self;
    const struct sl_cuda_driver *driver = cuda->driver;
    CUresult result = SL_IN_CONTEXT(cuda, sl_cuda_enter_for(cuda, stream),
                                    SL_BESIDE_CAPTURES(driver, driver->stream_synchronize(stream)));
    return sl_cuda_judge(cuda->driver, result, "cuStreamSynchronize");
}

static struct sl_answer stream_loose(void *self, sl_stream stream)
{
    const struct sl_cuda *cuda = self;
    unsigned flags = 0;
    if (!cuda->driver->stream_get_flags || cuda->driver->stream_get_flags(stream, &flags) != CUDA_SUCCESS)
        return sl_no_answer();
    return sl_answer_of(flags & CU_STREAM_NON_BLOCKING);
}

static struct sl_answer stream_capturing(void *self, sl_stream stream)
{
    const struct sl_cuda *cuda = self;
    enum sl_cuda_entry entered = sl_cuda_enter_for(cuda, stream);
    struct sl_answer answer =
        entered == SL_CUDA_REFUSED ? sl_no_answer() : sl_cuda_capturing(cuda->driver, stream, NULL);
    sl_cuda_leave(cuda, entered);
    return answer;
}

static enum sl_status kernel_layout(void *self, uint64_t function, struct sl_kernel_layout *out)
{
    return SL_UNCANCELLED(sl_cuda_kernel_layout(((struct sl_cuda *)self)->driver, function, out));
}

/* Queries the memory of this backend's device, whatever context the calling thread has. */
static CUresult ask_for_memory(const struct sl_cuda *cuda, size_t *free_size, size_t *total_size)
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
    const struct sl_cuda *cuda = self;
    size_t free_size, total_size;
    enum sl_status status = sl_cuda_judge(
        cuda->driver, SL_BESIDE_CAPTURES(cuda->driver, ask_for_memory(cuda, &free_size, &total_size)),
        "cuMemGetInfo");
    if (status) return status;
    *free_bytes = free_size;
    *total_bytes = total_size;
    return SL_OK;
}

/* Two transfers in each cycle of its clock. 0: the driver does not say. */
static uint64_t memory_bytes_per_s(const struct sl_cuda *cuda)
{
    int khz = 0, bits = 0;
    if (cuda->driver->device_get_attribute(&khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, cuda->device) !=
            CUDA_SUCCESS ||
        cuda->driver->device_get_attribute(&bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
                                           cuda->device) != CUDA_SUCCESS)
        return 0;
    return khz > 0 && bits > 0 ? 2000 * (uint64_t)khz * (uint64_t)bits / 8 : 0;
}

static void describe(void *self, struct sl_device_properties *out)
{
    const struct sl_cuda *cuda = self;
    out->memory_bytes_per_s = memory_bytes_per_s(cuda);
    if (!cuda->driver->device_get_name ||
        cuda->driver->device_get_name(out->name, sizeof out->name, cuda->device) != CUDA_SUCCESS)
        out->name[0] = 0;
    if (cuda->driver->driver_get_version(&out->driver_version) != CUDA_SUCCESS) out->driver_version = 0;
}

static enum sl_status thread_attach(void *self)
{
    const struct sl_cuda *cuda = self;
    /* Lets the program capture a graph in another thread while this one works. */
    CUstreamCaptureMode before;
    sl_cuda_set_capture_mode(cuda->driver, CU_STREAM_CAPTURE_MODE_RELAXED, &before);
    return SL_CUDA_CHECK(cuda, cuda->driver->ctx_set_current(cuda->context), "cuCtxSetCurrent");
}

static void close_backend(void *self)
{
    struct sl_cuda *cuda = self;
    if (!cuda) return;
    sl_cuda_part(cuda);
    if (cuda->in) cuda->driver->stream_destroy(cuda->in);
    if (cuda->out) cuda->driver->stream_destroy(cuda->out);
    free(cuda);
}

/* `managed`: slabs are needed. */
static enum sl_status check_device(const struct sl_cuda *cuda, bool managed)
{
    const struct sl_cuda_driver *driver = cuda->driver;
    int version = 0, concurrent = 0;
    enum sl_status status = SL_CUDA_CHECK(cuda, driver->driver_get_version(&version), "cuDriverGetVersion");
    if (status) return status;
    if (version < SL_OLDEST_DRIVER) {
        sl_log(SL_LOG_WARN, "the driver supports CUDA %d.%d; %d.%d or newer is needed", version / 1000,
               version % 1000 / 10, SL_OLDEST_DRIVER / 1000, SL_OLDEST_DRIVER % 1000 / 10);
        return SL_ERR_UNSUPPORTED;
    }
    if (managed && !driver->mem_discard_batch)
        sl_log(SL_LOG_INFO, "the driver is older than CUDA 13.0 and cannot discard: dead memory is copied");
    status = SL_CUDA_CHECK(cuda,
                           driver->device_get_attribute(
                               &concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, cuda->device),
                           "cuDeviceGetAttribute");
    if (status == SL_OK && managed && !concurrent) {
        sl_log(SL_LOG_WARN, "the device has no concurrent managed access");
        return SL_ERR_UNSUPPORTED;
    }
    return status;
}

static uint64_t id_of(const struct sl_cuda *cuda, const int at[3])
{
    CUuuid uuid;
    uint64_t id = 0;
    if (cuda->driver->device_get_uuid && cuda->driver->device_get_uuid(&uuid, cuda->device) == CUDA_SUCCESS)
        for (size_t i = 0; i < sizeof(uuid.bytes); i++) id = sl_hash_word(id, (unsigned char)uuid.bytes[i]);
    else
        for (int i = 0; i < 3; i++) id = sl_hash_word(id, (uint64_t)at[i]);
    return id ? id : 1;
}

static bool place(void *self, struct sl_device_place *out)
{
    const struct sl_cuda *cuda = self;
    static const CUdevice_attribute attributes[] = {
        CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
    int at[3];
    for (int i = 0; i < 3; i++)
        if (cuda->driver->device_get_attribute(&at[i], attributes[i], cuda->device) != CUDA_SUCCESS ||
            at[i] < 0)
            return false;
    *out = (struct sl_device_place){(uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2], id_of(cuda, at)};
    return true;
}

/* The nearest node if there are several; or -1. `sysfs`: where the kernel shows devices. */
static int nearest_node(struct sl_cuda *cuda, const char *sysfs)
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
    struct sl_cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda) return SL_ERR_NO_MEMORY;
    cuda->driver = driver;
    cuda->moves = use == SL_MEMORY_MOVED;
    enum sl_status status = SL_CUDA_CHECK(cuda, driver->ctx_get_current(&cuda->context), "cuCtxGetCurrent");
    if (status == SL_OK)
        status = SL_CUDA_CHECK(cuda, driver->ctx_get_device(&cuda->device), "cuCtxGetDevice");
    if (status == SL_OK) status = check_device(cuda, use != SL_MEMORY_NOTED);
    cuda->host_node = status == SL_OK ? nearest_node(cuda, sysfs) : -1;
    if (status == SL_OK)
        status = SL_CUDA_CHECK(cuda, driver->stream_create(&cuda->in, CU_STREAM_NON_BLOCKING, 0),
                               "cuStreamCreate");
    if (status == SL_OK)
        status = SL_CUDA_CHECK(cuda, driver->stream_create(&cuda->out, CU_STREAM_NON_BLOCKING, 0),
                               "cuStreamCreate");
    if (status) {
        close_backend(cuda);
        return status;
    }
    sl_cuda_join(cuda);
    *out = (struct sl_backend){
        .self = cuda,
        .slab_new = sl_cuda_slab_new,
        .slab_delete = sl_cuda_slab_delete,
        .pinned_new = sl_cuda_pinned_new,
        .pinned_delete = sl_cuda_pinned_delete,
        .stream_in = stream_in,
        .stream_out = stream_out,
        .stream_new = stream_new,
        .stream_delete = stream_delete,
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
        .lost = sl_cuda_part,
        .close = close_backend,
    };
    return SL_OK;
}
