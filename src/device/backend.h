/* The contract with the device. backend_cuda.c implements it on the Driver API's unified memory;
 * backend_host.c implements it on plain host memory so that the core can be tested without a driver.
 *
 * Streams, events and functions are the backend's own handles. The program's context is current in all calls,
 * or the backend makes it so. The backend logs errors and returns them as SL_ERR_DRIVER.
 */
#ifndef SLUICE_BACKEND_H
#define SLUICE_BACKEND_H

#include <stdbool.h>

#include "base/types.h"

/* What the driver says to a question that it may fail to answer. A structure, because C has no condition on
 * one: no caller can take a missing answer for yes or for no. What is not known counts as in use, and as
 * capturing; nothing is enqueued for it, and nothing that it may use is given out, discarded or freed. */
struct sl_answer {
    enum { SL_UNKNOWN, SL_NO, SL_YES } is;
};

static inline struct sl_answer sl_answer_of(bool yes)
{
    return (struct sl_answer){yes ? SL_YES : SL_NO};
}
static inline struct sl_answer sl_no_answer(void)
{
    return (struct sl_answer){SL_UNKNOWN};
}
static inline bool sl_is_yes(struct sl_answer answer)
{
    return answer.is == SL_YES;
}
static inline bool sl_is_no(struct sl_answer answer)
{
    return answer.is == SL_NO;
}

typedef void *sl_stream; /* NULL is the program's legacy default stream */
typedef void *sl_event_handle;

struct sl_kernel_layout {
    char name[192];
    uint32_t parameter_count;  /* at most SL_MAX_PARAMETERS */
    uint32_t *offsets, *sizes; /* caller's arrays, SL_MAX_PARAMETERS long */
    uint64_t module;           /* that contains it; 0: unknown */
};
#define SL_MAX_PARAMETERS 1024

struct sl_device_properties {
    char name[96];               /* "": unknown */
    int driver_version;          /* major * 1000 + minor * 10; 0: unknown */
    uint64_t memory_bytes_per_s; /* of its own memory, at most; 0: unknown */
};

/* Address on the PCI bus. */
struct sl_device_place {
    uint32_t domain, bus, device;
    uint64_t id; /* of the device, or of the part of it that is one (MIG); never 0 */
};

/* Who manages the program's memory. */
enum sl_memory_use {
    SL_MEMORY_NOTED, /* the driver; sluice only records, and there are no slabs */
    SL_MEMORY_PAGED, /* the driver, which pages slabs as it likes */
    SL_MEMORY_MOVED, /* sluice: slabs move only by fetch, evict and discard */
};

struct sl_backend {
    void *self;
    bool one_thread; /* only one thread may call it: there is no daemon */
    /* Simulates a planner's thread that is not ready at once: the first plan comes so late, as a part of what
     * a plan serves. 0 on real devices. */
    double first_plan_late;

    /* Makes a slab of `bytes` bytes, a multiple of 1 GiB, aligned to 1 GiB, of which nothing is resident or
     * populated. With SL_MEMORY_MOVED, memory that the device touches there stays in host memory unless it is
     * fetched. */
    enum sl_status (*slab_new)(void *self, uint64_t bytes, uint64_t *address);
    void (*slab_delete)(void *self, uint64_t address, uint64_t bytes);

    /* Makes a slab of `bytes` bytes, a multiple of 2 MiB, aligned to 1 GiB, in pinned host memory, which
     * never moves. The device reaches it at the same address. The rest of its last GiB stays unused. NULL:
     * there is no such memory. SL_ERR_UNSUPPORTED: not on this device. */
    enum sl_status (*pinned_new)(void *self, uint64_t bytes, uint64_t *address);
    void (*pinned_delete)(void *self, uint64_t address, uint64_t bytes);

    /* The daemon's two streams: evictions and discards go to `out`, fetches and populations to `in`. */
    sl_stream (*stream_in)(void *self);
    sl_stream (*stream_out)(void *self);
    /* A stream for a thread that moves memory. NULL: there are only those two. */
    enum sl_status (*stream_new)(void *self, sl_stream *out);
    void (*stream_delete)(void *self, sl_stream stream);

    /* Enqueue a movement. Precondition: [address, address + bytes) is in one slab, in whole 2 MiB blocks;
     * calls for one stream come from one thread at a time. Memory that was never written, or not since it was
     * discarded, is not copied. discard: the content is dead; runs on the `out` stream. If the driver cannot
     * discard, the memory is evicted. */
    enum sl_status (*fetch)(void *self, uint64_t address, uint64_t bytes, sl_stream stream);
    enum sl_status (*evict)(void *self, uint64_t address, uint64_t bytes, sl_stream stream);
    enum sl_status (*discard)(void *self, uint64_t address, uint64_t bytes, sl_stream stream);

    /* An event for order alone, and one with a time. A host thread that waits for either sleeps. */
    enum sl_status (*event_new)(void *self, sl_event_handle *out);
    enum sl_status (*timed_event_new)(void *self, sl_event_handle *out);
    void (*event_delete)(void *self, sl_event_handle event);
    enum sl_status (*event_record)(void *self, sl_event_handle event, sl_stream stream);
    enum sl_status (*stream_wait)(void *self, sl_stream stream, sl_event_handle event);
    struct sl_answer (*event_done)(void *self, sl_event_handle event);
    enum sl_status (*event_wait)(void *self, sl_event_handle event); /* on the host */
    /* Waits on the host for all work submitted to the stream; used where no event is available. */
    enum sl_status (*stream_finish)(void *self, sl_stream stream);
    /* Nanoseconds from `from` to `to`, both timed and done; 0: `to` came first. */
    uint64_t (*event_elapsed_ns)(void *self, sl_event_handle from, sl_event_handle to);

    /* Whether `stream` captures a graph: nothing may be enqueued on its behalf. */
    struct sl_answer (*stream_capturing)(void *self, sl_stream stream);

    /* Whether the stream and the legacy stream do not wait for each other. NULL: all streams do. */
    struct sl_answer (*stream_loose)(void *self, sl_stream stream);

    /* Name and parameter layout of a kernel. SL_ERR_UNSUPPORTED: the driver does not say, which was logged.
     */
    enum sl_status (*kernel_layout)(void *self, uint64_t function, struct sl_kernel_layout *out);

    /* The device's free and total memory at present, chunks included. */
    enum sl_status (*memory_info)(void *self, uint64_t *free_bytes, uint64_t *total_bytes);
    /* Describes the device; *out is zeroed. */
    void (*describe)(void *self, struct sl_device_properties *out);
    /* The device's place. NULL: it is not part of this machine and takes none of its host memory. False:
     * unknown. */
    bool (*place)(void *self, struct sl_device_place *out);
    /* Makes the context current in a new thread of ours. */
    enum sl_status (*thread_attach)(void *self);
    /* The context has ended, and all memory with it. NULL: no other backend knows of its memory. */
    void (*lost)(void *self);
    void (*close)(void *self);
};

/* Makes an event if *event is NULL. False: there is none. */
static inline bool sl_backend_has_event(const struct sl_backend *backend, sl_event_handle *event)
{
    return *event || backend->event_new(backend->self, event) == SL_OK;
}
static inline bool sl_backend_has_timed_event(const struct sl_backend *backend, sl_event_handle *event)
{
    return *event || backend->timed_event_new(backend->self, event) == SL_OK;
}

/* Records a timed event, and makes it first if *event is NULL. False: the driver refuses. */
static inline bool sl_backend_record_timed(const struct sl_backend *backend, sl_event_handle *event,
                                           sl_stream stream)
{
    return sl_backend_has_timed_event(backend, event) &&
           backend->event_record(backend->self, *event, stream) == SL_OK;
}

/* Order between streams that holds even if the driver refuses now and then. Any thread.
 *
 * Each function tries what has the same effect, some times. SL_ERR_DRIVER: nothing is ordered, and nothing is
 * known to be done. Callers then keep what they would have given out. */

/* Makes the stream, or else the host, wait for the event. */
enum sl_status sl_wait_event(const struct sl_backend *backend, sl_stream stream, sl_event_handle event);
/* The same for a stream that may capture: rather the host than the stream, which would take the wait into its
 * capture. */
enum sl_status sl_wait_beside(const struct sl_backend *backend, sl_stream stream, sl_event_handle event);
/* Makes the host wait for the event, or for all work of the stream. */
enum sl_status sl_wait_host(const struct sl_backend *backend, sl_event_handle event);
enum sl_status sl_finish_stream(const struct sl_backend *backend, sl_stream stream);
/* Records the event, or else waits on the host for the stream. The event then stands for work that is done or
 * for earlier work of another stream. */
enum sl_status sl_record_event(const struct sl_backend *backend, sl_event_handle event, sl_stream stream);

#endif
