#include "tests/host/backend_host.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/locks.h"
#include "device/cuda_call.h"

#define MAX_SLABS 4096
#define BLOCKS_PER_SLAB (SL_GIB / SL_BLOCK_BYTES)
#define DISCARDED 0xdd

struct host_slab {
    uint64_t address;
    bool resident[BLOCKS_PER_SLAB];
};

struct host {
    struct sl_host_books books;
    uint64_t device_bytes;
    pthread_mutex_t lock; /* guards slabs */
    struct host_slab *slabs[MAX_SLABS];
    int in, out; /* their addresses are the streams */
};

struct host_event {
    _Atomic uint64_t time_ns; /* 0: never recorded */
    bool timed;
};

static void count(struct host *host)
{
    atomic_fetch_add_explicit(&host->books.calls, 1, memory_order_relaxed);
}

static enum sl_status slab_new(void *self, uint64_t bytes, uint64_t *address)
{
    struct host *host = self;
    count(host);
    char *given = mmap(NULL, bytes + SL_GIB, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (given == MAP_FAILED) return SL_ERR_NO_MEMORY;
    uint64_t slab = ((uint64_t)given + SL_GIB - 1) & ~(SL_GIB - 1);
    if (slab > (uint64_t)given) munmap(given, slab - (uint64_t)given);
    munmap((char *)slab + bytes, (uint64_t)given + SL_GIB - slab);
    pthread_mutex_lock(&host->lock);
    uint64_t done = 0;
    for (int s = 0; s < MAX_SLABS && done < bytes; s++) {
        if (host->slabs[s]) continue;
        host->slabs[s] = calloc(1, sizeof *host->slabs[s]);
        if (!host->slabs[s]) break;
        host->slabs[s]->address = slab + done;
        done += SL_GIB;
    }
    pthread_mutex_unlock(&host->lock);
    if (done < bytes) return SL_ERR_NO_MEMORY;
    *address = slab;
    return SL_OK;
}

static void slab_delete(void *self, uint64_t address, uint64_t bytes)
{
    struct host *host = self;
    count(host);
    pthread_mutex_lock(&host->lock);
    for (int s = 0; s < MAX_SLABS; s++) {
        if (!host->slabs[s] || host->slabs[s]->address - address >= bytes) continue;
        free(host->slabs[s]);
        host->slabs[s] = NULL;
    }
    pthread_mutex_unlock(&host->lock);
    munmap((void *)address, bytes);
}

static enum sl_status pinned_new(void *self, uint64_t bytes, uint64_t *address)
{
    struct host *host = self;
    count(host);
    enum sl_status status = sl_reserve(bytes, address);
    if (status == SL_OK) atomic_fetch_add(&host->books.pinned_bytes, bytes);
    return status;
}

static void pinned_delete(void *self, uint64_t address, uint64_t bytes)
{
    struct host *host = self;
    count(host);
    atomic_fetch_sub(&host->books.pinned_bytes, bytes);
    sl_unreserve(address, bytes);
}

static sl_stream stream_in(void *self)
{
    return &((struct host *)self)->in;
}
static sl_stream stream_out(void *self)
{
    return &((struct host *)self)->out;
}
static enum sl_status stream_new(void *self, sl_stream *out)
{
    (void)self;
    *out = malloc(1);
    return *out ? SL_OK : SL_ERR_NO_MEMORY;
}
static void stream_delete(void *self, sl_stream stream)
{
    (void)self;
    free(stream);
}

/* Sets the residency of whole blocks and returns the bytes that changed. */
static uint64_t move(struct host *host, uint64_t address, uint64_t bytes, bool resident)
{
    uint64_t changed = 0;
    count(host);
    if (address % SL_BLOCK_BYTES || bytes % SL_BLOCK_BYTES || bytes == 0)
        atomic_fetch_add(&host->books.wrong, 1);
    pthread_mutex_lock(&host->lock);
    struct host_slab *slab = NULL;
    for (int s = 0; s < MAX_SLABS && !slab; s++)
        if (host->slabs[s] && address - host->slabs[s]->address < SL_GIB) slab = host->slabs[s];
    if (!slab || address + bytes - slab->address > SL_GIB) {
        atomic_fetch_add(&host->books.wrong, 1);
    } else {
        for (uint64_t at = address; at < address + bytes; at += SL_BLOCK_BYTES) {
            bool *now = &slab->resident[(at - slab->address) / SL_BLOCK_BYTES];
            changed += *now != resident ? SL_BLOCK_BYTES : 0;
            *now = resident;
        }
    }
    if (resident) {
        uint64_t total = atomic_fetch_add(&host->books.resident_bytes, changed) + changed;
        if (total > host->books.peak_resident_bytes) host->books.peak_resident_bytes = total;
    } else {
        atomic_fetch_sub(&host->books.resident_bytes, changed);
    }
    pthread_mutex_unlock(&host->lock);
    return changed;
}

static enum sl_status fetch(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)stream;
    sl_check_may_move();
    struct host *host = self;
    atomic_fetch_add(&host->books.bytes_in, move(host, address, bytes, true));
    return SL_OK;
}

static enum sl_status evict(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)stream;
    sl_check_may_move();
    struct host *host = self;
    atomic_fetch_add(&host->books.bytes_out, move(host, address, bytes, false));
    return SL_OK;
}

static enum sl_status discard(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)stream;
    sl_check_may_move();
    struct host *host = self;
    move(host, address, bytes, false);
    memset((void *)address, DISCARDED, bytes);
    atomic_fetch_add(&host->books.bytes_discarded, bytes);
    return SL_OK;
}

static enum sl_status event_new(void *self, sl_event_handle *out)
{
    count(self);
    struct host_event *event = calloc(1, sizeof *event);
    if (!event) return SL_ERR_NO_MEMORY;
    *out = event;
    return SL_OK;
}

static enum sl_status timed_event_new(void *self, sl_event_handle *out)
{
    enum sl_status status = event_new(self, out);
    if (status == SL_OK) ((struct host_event *)*out)->timed = true;
    return status;
}

static void event_delete(void *self, sl_event_handle event)
{
    count(self);
    free(event);
}

static enum sl_status event_record(void *self, sl_event_handle event, sl_stream stream)
{
    sl_check_may_enqueue();
    (void)stream;
    count(self);
    atomic_store(&((struct host_event *)event)->time_ns, sl_clock_ns(CLOCK_MONOTONIC));
    return SL_OK;
}

static enum sl_status stream_wait(void *self, sl_stream stream, sl_event_handle event)
{
    sl_check_may_enqueue();
    (void)stream;
    (void)event;
    count(self);
    return SL_OK;
}

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    (void)event;
    count(self);
    return sl_answer_of(true);
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    (void)event;
    count(self);
    return SL_OK;
}

static uint64_t event_elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    count(self);
    const struct host_event *first = from, *last = to;
    if (!first->timed || !last->timed) atomic_fetch_add(&((struct host *)self)->books.wrong, 1);
    uint64_t begin = atomic_load(&first->time_ns), end = atomic_load(&last->time_ns);
    return end > begin ? end - begin : 0;
}

static enum sl_status stream_finish(void *self, sl_stream stream)
{
    (void)stream;
    count(self);
    return SL_OK;
}

static struct sl_answer stream_capturing(void *self, sl_stream stream)
{
    (void)stream;
    count(self);
    return sl_answer_of(false);
}

static enum sl_status kernel_layout(void *self, uint64_t function, struct sl_kernel_layout *out)
{
    count(self);
    const struct sl_host_kernel *kernel = (const struct sl_host_kernel *)function;
    if (!kernel) return SL_ERR_UNSUPPORTED;
    snprintf(out->name, sizeof out->name, "%s", kernel->name);
    out->parameter_count = kernel->parameter_count;
    out->module = kernel->module;
    memcpy(out->offsets, kernel->offsets, kernel->parameter_count * sizeof *kernel->offsets);
    memcpy(out->sizes, kernel->sizes, kernel->parameter_count * sizeof *kernel->sizes);
    return SL_OK;
}

static enum sl_status memory_info(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct host *host = self;
    count(host);
    uint64_t used = atomic_load(&host->books.resident_bytes);
    *total_bytes = host->device_bytes;
    *free_bytes = used < host->device_bytes ? host->device_bytes - used : 0;
    return SL_OK;
}

static void describe(void *self, struct sl_device_properties *out)
{
    (void)self;
    snprintf(out->name, sizeof out->name, "host memory");
}

static enum sl_status thread_attach(void *self)
{
    count(self);
    return SL_OK;
}

static void close_backend(void *self)
{
    struct host *host = self;
    for (int s = 0; s < MAX_SLABS; s++) free(host->slabs[s]);
    free(host);
}

enum sl_status sl_backend_host_new(uint64_t device_bytes, struct sl_backend *out)
{
    struct host *host = calloc(1, sizeof *host);
    if (!host) return SL_ERR_NO_MEMORY;
    if (pthread_mutex_init(&host->lock, NULL)) {
        free(host);
        return SL_ERR_NO_MEMORY;
    }
    host->device_bytes = device_bytes;
    *out = (struct sl_backend){
        .self = host,
        .slab_new = slab_new,
        .slab_delete = slab_delete,
        .pinned_new = pinned_new,
        .pinned_delete = pinned_delete,
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
        .kernel_layout = kernel_layout,
        .memory_info = memory_info,
        .describe = describe,
        .thread_attach = thread_attach,
        .close = close_backend,
    };
    return SL_OK;
}

struct sl_host_books *sl_backend_host_books(const struct sl_backend *backend)
{
    return &((struct host *)backend->self)->books;
}
