/* What the parts of libcuda.so.1 share: threads, contexts, streams, and the rules of an API call.
 *
 * One lock guards all state of this header. An API function begins with sc_enter, which takes the lock, and
 * ends with sc_leave, which releases it. The queue releases the lock while it executes an operation
 * (queue.h), so whatever was looked up before a wait may be gone after it.
 */
#ifndef SOFTCUDA_DRIVER_H
#define SOFTCUDA_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "api.h"
#include "devices.h"
#include "handle.h"
#include "log.h"
#include "options.h"
#include "past.h"
#include "space.h"

#define SC_DRIVER_VERSION 13000
#define SC_LIMITS 11 /* CU_LIMIT_MAX of CUDA 13 */

struct sc_branch;
struct sc_clock;
struct sc_op;
struct sc_stream;
struct sc_loaded;

struct sc_context {
    struct sc_context *next;
    struct sc_device *device;
    uint32_t peers; /* by bit: devices whose memory it was allowed to access */
    unsigned refs;  /* the handle and every operation that is not timed yet */
    bool primary;
    unsigned flags, retains, api_version;
    unsigned long long id;
    CUresult sticky; /* the first fault; every later call gets it */
    CUfunc_cache cache_config;
    size_t limits[SC_LIMITS];
    struct sc_stream *legacy;  /* what a NULL stream means */
    struct sc_stream *streams; /* all of them, legacy included */
    struct sc_loaded *modules;
    struct sc_allocation *state;      /* SOFTCUDA_CONTEXT_BYTES */
    struct sc_allocation *heap;       /* of kernels that call malloc; NULL before the first */
    struct sc_allocation *grid_state; /* of cooperative launches; the same */
    struct sc_op **left_behind;       /* last operations of destroyed blocking streams */
    size_t left_count;
    uint64_t last_end_ns;     /* of the operations timed so far */
    struct sc_clock *reached; /* the same for races.h, or NULL */
};

struct sc_stream {
    struct sc_stream *next;
    struct sc_context *context;
    struct sc_thread *thread; /* of a per-thread default stream, else NULL */
    unsigned flags;
    int priority;
    CUsynchronizationPolicy synchronization_policy; /* 0: the default */
    CUaccessPolicyWindow access_policy;
    unsigned long long id;
    struct sc_op *last;
    struct sc_branch *branch; /* where a capture is in it, or NULL */
    struct sc_past past;      /* frees that `last` comes after */
};

struct sc_event {
    unsigned refs; /* the handle and nodes of graphs */
    struct sc_context *context;
    unsigned flags;
    struct sc_op *op;         /* the last record; NULL: never recorded */
    struct sc_branch *branch; /* of a record in a captured stream that came later, or NULL */
    struct sc_past past;      /* of that record */
    struct sc_ipc_event *ipc; /* of one between processes, or NULL */
};

/* One host thread. Its simulated clock is `clock_ns` as of its entries in the queue that are timed, plus
 * `pending_ns` for the calls since its last entry. */
struct sc_thread {
    struct sc_thread *next;
    bool started, gone;
    uint64_t clock_ns, pending_ns;
    uint64_t last_entry;
    unsigned vain_polls;       /* in a row, answered "not ready" because other ranks hold up the times */
    struct sc_context **stack; /* of current contexts */
    size_t depth, capacity;
    CUstreamCaptureMode capture_mode;
};

enum sc_need {
    SC_NEED_NOTHING, /* before cuInit too */
    SC_NEED_INIT,
    SC_NEED_CONTEXT, /* a current context that has not faulted */
    SC_NEED_SAFE,    /* the same; and no stream capture forbids this call, which it would not see */
};

/* pre: the lock is not held. Takes it and adds the call's simulated cost. On failure the lock is not held. */
CUresult sc_enter(enum sc_need need);
/* The same for a call that only asks what the driver knows without the device, or sets it: it costs less. */
CUresult sc_enter_query(enum sc_need need);
/* The same lock, for the queue, which lets go of it while an operation runs. */
void sc_lock(void);
void sc_unlock(void);
extern pthread_mutex_t sc_driver_lock;

/* Releases the lock and returns `result`. */
static inline CUresult sc_leave(CUresult result)
{
    sc_unlock();
    return result;
}

/* The calling thread runs a program's host function, which may not call CUDA. */
void sc_set_in_callback(bool inside);

/* From here on: pre: the lock is held. */
struct sc_thread *sc_self(void); /* NULL only when memory ran out at the thread's first call */
struct sc_thread *sc_threads(void);
struct sc_context *sc_current(void); /* NULL: none */
struct sc_context *sc_contexts(void);
bool sc_context_push(struct sc_context *context);
void sc_context_unref(struct sc_context *context);

/* A handle's stream in the current context: NULL and CU_STREAM_LEGACY are the context's, CU_STREAM_PER_THREAD
 * the thread's own. NULL for an invalid handle. */
struct sc_stream *sc_stream_find(CUstream handle);

/* Adds the frees that the stream's next operation comes after, and says whether it comes after a certain one.
 */
void sc_stream_add_past(const struct sc_stream *stream, struct sc_past *past);
bool sc_stream_follows(const struct sc_stream *stream, unsigned long long stream_id, uint64_t op_id);

/* Ends a context's streams, modules and memory; its work must be done. */
void sc_context_teardown(struct sc_context *context);
struct sc_stream *sc_stream_create(struct sc_context *context, unsigned flags, int priority);
void sc_stream_set_priority(struct sc_stream *stream, int priority); /* the nearest that there is */
void sc_stream_destroy(struct sc_stream *stream);
/* In the current context. Owns `ipc`, which may be NULL, when it succeeds. NULL: no memory. */
struct sc_event *sc_event_new(unsigned flags, struct sc_ipc_event *ipc);
void sc_event_unref(struct sc_event *event);

/* Takes memory off what is left of a device, or gives it back, and logs that for the timing. false: it ran
 * out.
 */
bool sc_device_charge(struct sc_device *device, uint64_t bytes);
void sc_device_discharge(struct sc_device *device, uint64_t bytes);
/* A kernel was launched: another process may take memory now (SOFTCUDA_OTHERS). */
void sc_memory_launched(struct sc_device *device);
/* Device memory that cuMemAlloc may still give. */
uint64_t sc_memory_free_bytes(const struct sc_device *device);
/* Takes device memory, charges it and logs it for the timing; NULL when it ran out. The context's own device,
 * or another one. */
struct sc_allocation *sc_device_allocate(struct sc_context *context, uint64_t bytes, uint64_t align);
struct sc_allocation *sc_device_allocate_on(struct sc_device *device, struct sc_context *context,
                                            uint64_t bytes, uint64_t align);
/* Whose memory it is, or, of host and managed memory, whose context took it. */
struct sc_device *sc_device_of(const struct sc_allocation *allocation);
/* Takes managed memory and logs it for the timing; NULL when it ran out. `context` NULL: outlives contexts.
 */
struct sc_allocation *sc_managed_memory(struct sc_context *context, uint64_t bytes, unsigned flags);
/* Charges device memory for an allocation that has none yet, and logs it; false when it ran out. */
bool sc_memory_reserve(struct sc_allocation *allocation, uint64_t bytes);
void sc_memory_unreserve(struct sc_allocation *allocation);
/* Ends an allocation of any kind. The timing learns of it by sc_memory_log_free or by the operation that
 * frees. */
void sc_memory_release(struct sc_allocation *allocation);
void sc_memory_log_free(const struct sc_allocation *allocation);
void sc_memory_release_all(struct sc_context *context);

/* Logs that a function or a form of it is not built. */
CUresult sc_refuse(const char *function, const char *what);

#endif
