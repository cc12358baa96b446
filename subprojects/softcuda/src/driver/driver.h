/* Shared by the parts of libcuda.so.1: threads, contexts, streams, and the rules of an API call.
 *
 * One lock guards all state of this header. An API function begins with sc_enter, which takes the lock, and
 * ends with sc_leave, which releases it. The queue releases the lock while it executes an operation
 * (queue.h), so any object that was looked up before a wait may be gone after it.
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
#include "trap.h"

#define SC_LIMITS 11 /* CU_LIMIT_MAX of CUDA 13 */

struct sc_branch;
struct sc_clock;
struct sc_op;
struct sc_stream;
struct sc_loaded;

struct sc_context {
    struct sc_context *next;
    struct sc_device *device;
    uint32_t peers; /* by bit: devices whose memory the context has enabled access to */
    unsigned refs;  /* held by the handle and by every operation that has no times yet */
    bool primary;
    unsigned flags, retains, api_version;
    unsigned long long id;
    CUresult sticky; /* the first fault; every later call returns it */
    CUfunc_cache cache_config;
    size_t limits[SC_LIMITS];
    struct sc_stream *legacy;  /* the stream that a NULL handle means */
    struct sc_stream *streams; /* all of them, legacy included */
    struct sc_loaded *modules;
    struct sc_allocation *state; /* SOFTCUDA_CONTEXT_BYTES */
    struct sc_allocation *heap;  /* for kernels that call malloc; NULL before the first one */
    struct sc_op **left_behind;  /* last operations of destroyed blocking streams */
    size_t left_count;
    struct sc_past left_past; /* frees of those streams: before the legacy stream's next operation */
    uint64_t last_end_ns;     /* of the operations that have times so far */
    uint64_t waited_ns;       /* up to there the host has waited for all of them */
    struct sc_clock *reached; /* the clock of those operations, for races.h, or NULL */
};

struct sc_stream {
    struct sc_stream *next;
    struct sc_context *context;
    struct sc_thread *thread; /* the owner of a per-thread default stream, else NULL */
    unsigned flags;
    int priority;
    CUsynchronizationPolicy synchronization_policy; /* 0: the default */
    CUaccessPolicyWindow access_policy;
    unsigned long long id;
    struct sc_op *last;
    struct sc_branch *branch; /* of the capture that the stream is in, or NULL */
    struct sc_past past;      /* frees that come before `last` */
};

struct sc_event {
    unsigned refs; /* held by the handle and by nodes of graphs */
    struct sc_context *context;
    unsigned flags;
    struct sc_op *op;         /* the last record; NULL: never recorded */
    struct sc_branch *branch; /* of the last record, if it was in a captured stream, or NULL */
    struct sc_past past;      /* frees that come before that record */
    struct sc_ipc_event *ipc; /* of an interprocess event, or NULL */
};

/* One host thread. Its simulated time is `clock_ns`, which covers its queue entries that have times, plus
 * `pending_ns` for the calls since its last entry. */
struct sc_thread {
    struct sc_thread *next;
    bool started, gone;
    uint64_t clock_ns, pending_ns;
    struct sc_order order;
    uint64_t last_entry;
    unsigned vain_polls;       /* queries in a row that returned "not ready" because other ranks delay the
                                  times */
    struct sc_context **stack; /* of current contexts */
    size_t depth, capacity;
    CUstreamCaptureMode capture_mode;
};

enum sc_need {
    SC_NEED_NOTHING, /* no requirement; also before cuInit */
    SC_NEED_INIT,
    SC_NEED_CONTEXT, /* a current context without a fault */
    SC_NEED_SAFE,    /* SC_NEED_CONTEXT, and no stream capture forbids this call, which the capture would not
                        record */
};

/* Takes the lock and adds the call's simulated cost. On failure the lock is not held. pre: the lock is not
 * held. */
CUresult sc_enter(enum sc_need need);
/* The same for a call that only reads or sets state of the driver and does not need the device: it costs
 * less. */
CUresult sc_enter_query(enum sc_need need);
/* Takes the lock for a thread of the program that a signal of its own has interrupted (trap.h). false: the
 * thread holds it, runs a host function, or there is no driver for it. */
bool sc_interrupt(void);
/* The same lock, for the queue, which releases it while an operation runs. */
void sc_lock(void);
void sc_unlock(void);
extern pthread_mutex_t sc_driver_lock;

/* Releases the lock and returns `result`. */
static inline CUresult sc_leave(CUresult result)
{
    if (sc_trap_on) sc_trap_close();
    sc_unlock();
    return result;
}

/* Marks the calling thread as running a host function of the program, which may not call CUDA. */
void sc_set_in_callback(bool inside);

/* pre of all functions below: the lock is held. */
struct sc_thread *sc_self(void); /* NULL only if there was no memory at the thread's first call */
struct sc_thread *sc_threads(void);
struct sc_context *sc_current(void); /* NULL: none */
struct sc_context *sc_contexts(void);
bool sc_context_push(struct sc_context *context);
void sc_context_unref(struct sc_context *context);

/* The stream of a handle in the current context: NULL and CU_STREAM_LEGACY mean the context's legacy stream,
 * CU_STREAM_PER_THREAD the thread's own. Returns NULL for an invalid handle. */
struct sc_stream *sc_stream_find(CUstream handle);

/* Adds the frees that come before the stream's next operation to *past; and whether a certain free comes
 * before it. */
void sc_stream_add_past(const struct sc_stream *stream, struct sc_past *past);
bool sc_stream_follows(const struct sc_stream *stream, unsigned long long stream_id, uint64_t op_id);

/* Destroys a context's streams, modules and memory. pre: its work is done. */
void sc_context_teardown(struct sc_context *context);
struct sc_stream *sc_stream_create(struct sc_context *context, unsigned flags, int priority);
void sc_stream_set_priority(struct sc_stream *stream, int priority); /* clamps to the valid priorities */
void sc_stream_destroy(struct sc_stream *stream);
/* Creates an event in the current context. On success it owns `ipc`, which may be NULL. NULL: no memory. */
struct sc_event *sc_event_new(unsigned flags, struct sc_ipc_event *ipc);
void sc_event_unref(struct sc_event *event);

/* Takes memory from the device's free memory, or returns it, and logs the change for the timing. false: there
 * is not enough. */
bool sc_device_charge(struct sc_device *device, uint64_t bytes);
void sc_device_discharge(struct sc_device *device, uint64_t bytes);
/* A kernel was launched: SOFTCUDA_OTHERS may take its memory at this launch. */
void sc_memory_launched(struct sc_device *device);
/* Device memory that cuMemAlloc can still allocate. */
uint64_t sc_memory_free_bytes(const struct sc_device *device);
/* Allocates device memory, charges it and logs it for the timing; NULL if there is not enough. On the
 * context's own device, or on `device`. */
struct sc_allocation *sc_device_allocate(struct sc_context *context, uint64_t bytes, uint64_t align);
struct sc_allocation *sc_device_allocate_on(struct sc_device *device, struct sc_context *context,
                                            uint64_t bytes, uint64_t align);
/* The device of device memory; for host and managed memory, the device of the context that allocated it. */
struct sc_device *sc_device_of(const struct sc_allocation *allocation);
/* Allocates managed memory and logs it for the timing; NULL if there is not enough. `context` NULL: the
 * memory outlives contexts. */
struct sc_allocation *sc_managed_memory(struct sc_context *context, uint64_t bytes, unsigned flags);
/* Ends an allocation of any kind. The timing learns of the free from sc_memory_log_free, or from the
 * operation that frees. */
void sc_memory_release(struct sc_allocation *allocation);
void sc_memory_log_free(const struct sc_allocation *allocation);
void sc_memory_release_all(struct sc_context *context);

/* Logs that a function, or one form of it, is not implemented. */
CUresult sc_refuse(const char *function, const char *what);

#endif
