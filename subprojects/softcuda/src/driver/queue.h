/* Work between its submission and its place on the simulated clock.
 *
 * Every operation, and every host action that affects time, is an entry of one list in submission order. An
 * entry may be executed once all its dependencies are: as late as possible, in a random legal order or at
 * once (SOFTCUDA_SCHEDULE). Independently of that, entries leave the head of the list in submission order,
 * and only then get their times. So if a program forgets to wait, its results depend on the schedule; its
 * times never do.
 *
 * Dependencies: the stream's previous operation, the legacy stream's barriers, recorded events. They always
 * point to earlier entries, so every order that respects them terminates.
 *
 * A host function runs in a driver thread. Until it ends, or has run for 10 ms, no other operation begins, so
 * that the order does not depend on thread speed. A host function that takes longer delays only the entries
 * that depend on it: others get their times without it.
 *
 * A launch that meets other ranks (peers.h) also runs in a driver thread, and other operations may begin
 * meanwhile. It gets its times when all ranks have reported when they are ready; entries behind it wait for
 * that, so that times do not depend on any rank's speed. A query of an event also waits for that, for a
 * limited time. Ranks may submit to two groups of peers in different orders: if there is no progress for a
 * while, entries that do not depend on such a launch get their times without it.
 *
 * pre: all functions: the driver's lock is held. Functions whose comment says "executes" release it while
 * operations run.
 */
#ifndef SOFTCUDA_QUEUE_H
#define SOFTCUDA_QUEUE_H

#include "clock.h"
#include "driver.h"
#include "ipc_event.h"
#include "timing.h"

struct sc_native_kernel;
struct sc_saved;
struct sc_site;

enum sc_op_kind {
    SC_OP_KERNEL,
    SC_OP_COPY,
    SC_OP_SET,
    SC_OP_PREFETCH,
    SC_OP_DISCARD,
    SC_OP_DISCARD_PREFETCH,
    SC_OP_RECORD,
    SC_OP_WAIT,
    SC_OP_CALL,
    SC_OP_FREE, /* of pool memory, in stream order */
    SC_OP_JOIN, /* does nothing: begin and end of a graph's launch, and empty nodes */
    SC_OP_GRAPH_MEMORY,
    SC_OP_ALLOCATE, /* for races.h only: memory is allocated in stream order */
    /* Host actions; nothing is executed. */
    SC_OP_SYNC,
    SC_OP_CHARGE,
    SC_OP_MANAGED_ALLOCATE,
    SC_OP_MANAGED_FREE,
    SC_OP_ADVISE,
    SC_OP_HOST_FAULT, /* the CPU accesses a block that only a device has: trap.h */
    /* Host actions for races.h only. */
    SC_OP_KNOWN, /* a thread knows that the dependency has completed */
    SC_OP_FRESH, /* memory that was never used */
};

enum sc_op_state { SC_OP_QUEUED, SC_OP_RUNNING, SC_OP_DONE };

struct sc_launch_work {
    struct sc_loaded *loaded; /* keeps the function alive; released with the operation */
    struct sc_func *func;     /* the function's description; `loaded` keeps it alive */
    const struct sc_function *function;
    const struct sc_native_kernel *native; /* instead of `function` */
    struct sc_effect effect;               /* of a launch that meets peers, once it has arrived */
    const char *name;
    uint32_t grid[3], block[3], dynamic_shared_bytes;
    void *parameters;          /* owned */
    uint64_t heap, heap_bytes; /* as in struct sc_launch */
    bool cooperative;
};

/* A box: `width` bytes, `height` rows, `depth` slices. */
struct sc_copy_work {
    uint64_t destination, source;
    uint64_t width, height, depth;
    uint64_t destination_pitch, source_pitch, destination_slice, source_slice;
    enum sc_side to, from;
    int to_ordinal, from_ordinal; /* of the devices, if a side is device memory */
    void *snapshot; /* the source's bytes at the time of the call, packed; owned; NULL: the source is read at
                       execution */
    uint64_t snapshot_bytes;
};

struct sc_set_work {
    uint64_t address;
    uint64_t width, height, pitch; /* elements, rows, bytes */
    uint32_t value, element_bytes;
    enum sc_side to;
};

struct sc_move_work {
    struct sc_span *spans; /* owned */
    uint64_t count;
};

struct sc_call_work {
    CUhostFn function;
    CUstreamCallback callback; /* either this or `function` */
    CUstream stream;
    void *data;
};

struct sc_advise_work {
    struct sc_span span;
    enum sc_advice advice;
};

struct sc_free_work {
    struct sc_allocation *allocation; /* freed unless it is a pool's block */
    struct sc_block *block;           /* of a memory pool, a reference; or NULL */
    struct sc_device *device;         /* whose memory it is */
    uint64_t charged_bytes;
    uint64_t address, bytes;
};

/* Memory of a graph becomes live or ends (graph_memory.c). */
struct sc_graph_memory_work {
    struct sc_graph_memory *memory; /* a reference */
    bool live;
    bool executed;
};

struct sc_op {
    struct sc_op *next, *previous;                 /* list of the entries without times */
    struct sc_op *next_pending, *previous_pending; /* list of the entries that are not executed yet */
    uint64_t id;
    enum sc_op_kind kind;
    enum sc_op_state state;
    unsigned refs;
    bool wanted;        /* must be executed: something waits for it */
    bool dropped;       /* the context faulted or the process ends: not executed */
    bool whole_context; /* SYNC: waits for the whole context */
    uint64_t graph;     /* the graph launch that it is part of: id of that launch's first operation; 0:
                           none */
    bool in_graph;      /* a node of a graph, whose addresses were not checked since the node was created */
    bool held;          /* used by queue.c only */
    bool timed;
    bool meets_peers;  /* executed together with launches of other ranks (peers.h) */
    bool known_ended;  /* the host has waited for it, or asked */
    bool said_ended;   /* a query reported it as ended before its times were known */
    bool arrived, met; /* if meets_peers: its ready time was reported to the peers; its times are known */
    bool takes_long;   /* for such a launch and for host functions: entries that do not depend on it no longer
                          wait for it */
    const struct sc_native_peers *peers; /* if meets_peers */
    void *token;                         /* from peers->begin; NULL before that */
    struct sc_op *next_call;             /* for calls.h */
    struct sc_context *context;
    struct sc_device *device; /* NULL: of none */
    struct sc_thread *thread;
    unsigned long long stream_id;
    uint64_t call_ns; /* simulated host time of the thread since its previous entry */
    struct sc_op **dependencies;
    size_t dependency_count, dependency_capacity;
    bool has_predecessor; /* dependencies[0] is the stream's previous operation */
    uint64_t start_ns, end_ns;
    struct sc_cost cost;
    struct sc_saved *saved; /* for hidden.h; owned */
    /* For races.h. */
    const struct sc_site *site;
    struct sc_moment moment;
    struct sc_clock *clock; /* owned; NULL before it has times */
    uint64_t fault_address; /* of a kernel: the address that it could not access, or 0 */
    union {
        struct sc_launch_work launch;
        struct sc_copy_work copy;
        struct sc_set_work set;
        struct sc_move_work move;
        struct sc_call_work call;
        struct sc_ipc_work ipc; /* RECORD and WAIT that meet peers */
        struct sc_advise_work advise;
        struct sc_free_work free;
        struct sc_graph_memory_work graph_memory;
        struct sc_user_set *kept; /* JOIN: user objects that a graph's launch keeps alive, or NULL */
        int64_t charge_bytes;
        struct sc_span span; /* MANAGED_*, ALLOCATE, FRESH, HOST_FAULT */
    };
};

/* A new entry. The caller fills it and passes it to a submit function or to sc_queue_host, which then owns
 * it. NULL: no memory. */
struct sc_op *sc_op_new(enum sc_op_kind kind, struct sc_context *context);
/* Drops a reference. An entry that was never submitted is freed with everything that it owns. Accepts
 * NULL. */
void sc_op_unref(struct sc_op *op);
/* Adds a dependency; NULL adds none. false: no memory. */
bool sc_op_depends(struct sc_op *op, struct sc_op *on);

/* Passes ownership of `buffer`, from malloc, as the copy's source. */
void sc_op_own_snapshot(struct sc_op *op, void *buffer, uint64_t bytes);

/* Submits `count` > 0 operations as one. The first comes after the stream's previous work, and the stream's
 * later work comes after the last; the caller must make the last depend on all others. Operations in between
 * have only their own dependencies. Owns all operations, even on failure. May execute. */
CUresult sc_queue_submit_graph(struct sc_stream *stream, struct sc_op **ops, size_t count);
/* Submits work to a stream, or captures it if the stream is being captured. May execute (schedule eager, or a
 * full queue). */
CUresult sc_queue_submit(struct sc_stream *stream, struct sc_op *op);
/* Submits and waits: a synchronous call. Executes. */
CUresult sc_queue_submit_and_wait(struct sc_stream *stream, struct sc_op *op);
/* Adds a host action. Executes nothing. */
void sc_queue_host(struct sc_op *op);

/* Make the calling thread wait, on the simulated clock too. Each executes. */
CUresult sc_queue_wait_op(struct sc_op *op);
CUresult sc_queue_wait_context(struct sc_context *context);

/* Whether `op` has ended at the calling thread's simulated time; NULL counts as ended. Executes what the
 * answer needs. Returning false advances the thread's clock. */
bool sc_queue_ended(struct sc_op *op);

/* Executes and times everything up to `op` and to the calling thread's last entry, except for entries that
 * wait for host functions, or for launches that meet peers, which take long. */
void sc_queue_settle(struct sc_op *op);

/* For calls.h: the host function of `op` has ended. */
void sc_queue_called(struct sc_op *op);

/* For peers.h: begins or executes one operation that peers may need, or waits until there is one. */
void sc_queue_serve_peers(void);
/* A launch that meets peers has run, with this result. */
void sc_queue_ran(struct sc_op *op, CUresult fault);
/* Assigns times as far as possible. If `op` still has none and its peers' times are not awaited, waits for
 * progress. */
void sc_queue_await_time(struct sc_op *op);
/* Entries that do not depend on `op` no longer wait for it; it gets its times as soon as those of its peers
 * are known. */
void sc_queue_takes_long(struct sc_op *op);

/* Waits until no operation runs except host functions. Others may be queued then. */
void sc_queue_let_finish(void);

/* At exit: drops the operations that nothing waited for, and times the rest. */
void sc_queue_close(void);

/* execute.c: does the work of the operation. Returns the context's fault, or success. pre: the lock is NOT
 * held. */
CUresult sc_op_execute(struct sc_op *op);
/* replay.c: assigns times to an executed entry and writes its line of the timeline. */
void sc_op_time(struct sc_op *op);
/* replay.c: called before sc_op_time for a launch that meets peers: tells the peers when it can begin. */
void sc_op_arrive(struct sc_op *op);
void sc_timeline_flush(void);
void sc_timeline_close(void);

#endif
