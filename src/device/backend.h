/* The contract with the device. backend_cuda.c keeps it on the Driver API's unified memory; backend_host.c
 * keeps it on plain host memory so that the core can be tested without any driver.
 *
 * Streams, events and functions are the backend's own handles. All calls are made with the program's context
 * current or with the backend making it so. Errors are logged by the backend and passed on as SL_ERR_DRIVER.
 */
#ifndef SLUICE_BACKEND_H
#define SLUICE_BACKEND_H

#include "base/types.h"

typedef void *sl_stream; /* NULL is the program's legacy default stream */
typedef void *sl_event_handle;

struct sl_kernel_layout {
    char name[192];
    uint32_t parameter_count;  /* at most SL_MAX_PARAMETERS */
    uint32_t *offsets, *sizes; /* caller's arrays, SL_MAX_PARAMETERS long */
    uint64_t module;           /* whose it is, or 0: not known */
};
#define SL_MAX_PARAMETERS 1024

struct sl_device_properties {
    char name[96];      /* "": not known */
    int driver_version; /* major * 1000 + minor * 10; 0: not known */
};

/* Where on the PCI bus. */
struct sl_device_place {
    uint32_t domain, bus, device;
};

/* Whose the program's memory is. */
enum sl_memory_use {
    SL_MEMORY_NOTED, /* the driver's own: it is only taken note of, there are no slabs */
    SL_MEMORY_PAGED, /* in slabs that the driver pages as it likes */
    SL_MEMORY_MOVED, /* in slabs in which nothing moves but by fetch, evict and discard */
};

struct sl_backend {
    void *self;
    bool one_thread; /* only one thread may call it: there is no daemon */

    /* A slab of `bytes` bytes, a multiple of 1 GiB, aligned to 1 GiB; nothing in it is resident or populated.
     * What the device touches there stays in host memory unless fetched (SL_MEMORY_MOVED). */
    enum sl_status (*slab_new)(void *self, uint64_t bytes, uint64_t *address);
    void (*slab_delete)(void *self, uint64_t address, uint64_t bytes);

    /* A slab of `bytes` bytes, a multiple of 2 MiB, aligned to 1 GiB, in pinned host memory that the device
     * reaches at the same address: it never moves. The rest of its last GiB is nobody else's. NULL: there is
     * no such memory. SL_ERR_UNSUPPORTED: not on this device. */
    enum sl_status (*pinned_new)(void *self, uint64_t bytes, uint64_t *address);
    void (*pinned_delete)(void *self, uint64_t address, uint64_t bytes);

    /* The two streams of the daemon: evictions and drops go to `out`, fetches and populations to `in`. */
    sl_stream (*stream_in)(void *self);
    sl_stream (*stream_out)(void *self);

    /* Enqueue a movement. pre: [address, address + bytes) is in one slab, in whole 2 MiB blocks; calls for
     * one stream come from one thread at a time. What was never written, or discarded and not written since,
     * is not copied. discard: the content is dead; on the `out` stream. Where the driver cannot discard it
     * evicts. */
    enum sl_status (*fetch)(void *self, uint64_t address, uint64_t bytes);
    enum sl_status (*evict)(void *self, uint64_t address, uint64_t bytes);
    enum sl_status (*discard)(void *self, uint64_t address, uint64_t bytes);

    /* The same as evict, for what was not written since it was fetched: its copy in host memory is still
     * good, so nothing is copied. NULL on all devices but the simulated one. */
    enum sl_status (*leave)(void *self, uint64_t address, uint64_t bytes);

    /* An event for order alone, and one whose time is read as well. Whoever waits for either on the host
     * sleeps meanwhile. */
    enum sl_status (*event_new)(void *self, sl_event_handle *out);
    enum sl_status (*timed_event_new)(void *self, sl_event_handle *out);
    void (*event_delete)(void *self, sl_event_handle event);
    enum sl_status (*event_record)(void *self, sl_event_handle event, sl_stream stream);
    enum sl_status (*stream_wait)(void *self, sl_stream stream, sl_event_handle event);
    bool (*event_done)(void *self, sl_event_handle event);
    enum sl_status (*event_wait)(void *self, sl_event_handle event); /* on the host */
    /* Waits on the host for all that was submitted to the stream: where no event could be had. */
    enum sl_status (*stream_finish)(void *self, sl_stream stream);
    /* Nanoseconds from `from` to `to`, both timed and done; 0 when `to` came first. */
    uint64_t (*event_elapsed_ns)(void *self, sl_event_handle from, sl_event_handle to);

    /* True while `stream` captures a graph: nothing may be enqueued on its behalf. */
    bool (*stream_capturing)(void *self, sl_stream stream);

    /* Whether the stream does not wait for the legacy one, nor that for it. NULL: none is like that. */
    bool (*stream_loose)(void *self, sl_stream stream);

    /* Name and parameter layout of a kernel. SL_ERR_UNSUPPORTED when the driver does not say. */
    enum sl_status (*kernel_layout)(void *self, uint64_t function, struct sl_kernel_layout *out);

    /* What the device has and has free now, chunks included. */
    enum sl_status (*memory_info)(void *self, uint64_t *free_bytes, uint64_t *total_bytes);
    /* What is known of the device; *out is zeroed. */
    void (*describe)(void *self, struct sl_device_properties *out);
    /* Where the device is. NULL: it is none of this machine, whose host memory it does not take. False: not
     * known. */
    bool (*place)(void *self, struct sl_device_place *out);
    /* Makes the context current in a new thread of ours. */
    enum sl_status (*thread_attach)(void *self);
    void (*close)(void *self);
};

/* Whether there is an event: makes it where *event is NULL. */
static inline bool sl_backend_has_event(const struct sl_backend *backend, sl_event_handle *event)
{
    return *event || backend->event_new(backend->self, event) == SL_OK;
}
static inline bool sl_backend_has_timed_event(const struct sl_backend *backend, sl_event_handle *event)
{
    return *event || backend->timed_event_new(backend->self, event) == SL_OK;
}

/* Records a timed event, which is made where *event is NULL. False: the driver wants none. */
static inline bool sl_backend_record_timed(const struct sl_backend *backend, sl_event_handle *event,
                                           sl_stream stream)
{
    return sl_backend_has_timed_event(backend, event) &&
           backend->event_record(backend->self, *event, stream) == SL_OK;
}

#endif
