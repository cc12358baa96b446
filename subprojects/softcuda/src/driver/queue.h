/* Work between its submission and its place on the simulated clock.
 *
 * Every operation, and every act of a host thread that matters to time, is an entry of one list in submission
 * order. An entry is executed once everything it depends on is: as late as possible, in a random legal order
 * or at once (SOFTCUDA_SCHEDULE). Independently of that, entries leave the head of the list in submission
 * order, and only then get their times. So what a program computes depends on the schedule if it forgot to
 * wait, and its times never do.
 *
 * Dependencies: the stream's previous operation, the legacy stream's barriers, recorded events. They always
 * point to earlier entries, so every order that respects them ends.
 *
 * A host function runs in a thread of the driver's. Until it ends, or has run for 10 ms, nothing else begins,
 * so that the order depends on no thread's speed. One that takes longer holds up what depends on it, and
 * nothing else: that gets its times without it.
 *
 * A launch that meets other ranks' (peers.h) also runs in a thread of the driver's, and others begin
 * meanwhile. It gets its times when all ranks have said when theirs can begin; entries behind it wait for
 * that, so that times do not depend on any rank's speed. So does a query of an event, a while. Ranks may
 * submit to two groups of peers in different orders: where nothing happens for a while, entries that do not
 * depend on such a launch get their times without it.
 *
 * pre: all functions: the driver's lock is held. Functions that say "executes" release it while operations
 * run.
 */
#ifndef SOFTCUDA_QUEUE_H
#define SOFTCUDA_QUEUE_H

#include "clock.h"
#include "driver.h"
#include "ipc_event.h"
#include "timing.h"

struct sc_native_kernel;
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
    SC_OP_JOIN, /* does nothing: where a graph begins and ends, and its nodes that do nothing */
    SC_OP_GRAPH_MEMORY,
    SC_OP_ALLOCATE, /* for races.h only: memory comes in stream order */
    /* Acts of the host; nothing is executed. */
    SC_OP_SYNC,
    SC_OP_CHARGE,
    SC_OP_MANAGED_ALLOCATE,
    SC_OP_MANAGED_FREE,
    SC_OP_ADVISE,
    /* The same, for races.h only. */
    SC_OP_KNOWN, /* a thread knows that its dependency is over */
    SC_OP_FRESH, /* memory that nobody has used */
};

enum sc_op_state { SC_OP_QUEUED, SC_OP_RUNNING, SC_OP_DONE };

struct sc_launch_work {
    struct sc_loaded *loaded; /* keeps the function alive; released with the operation */
    struct sc_func *func;     /* the same with its description */
    const struct sc_function *function;
    const struct sc_native_kernel *native; /* instead of `function` */
    struct sc_effect effect;               /* of one that meets peers, once it has arrived */
    const char *name;
    uint32_t grid[3], block[3], dynamic_shared_bytes;
    void *parameters;                      /* owned */
    uint64_t heap, heap_bytes, grid_state; /* as in struct sc_launch */
};

/* A box of `width` bytes by `height` rows by `depth` slices. */
struct sc_copy_work {
    uint64_t destination, source;
    uint64_t width, height, depth;
    uint64_t destination_pitch, source_pitch, destination_slice, source_slice;
    enum sc_side to, from;
    int to_ordinal, from_ordinal; /* of the devices, where a side is one */
    void *snapshot; /* the source's bytes at the call, packed; owned; NULL: read when executed */
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
    struct sc_allocation *allocation; /* to end, unless it is a block */
    struct sc_block *block;           /* of a memory pool: a reference; or NULL */
    struct sc_device *device;         /* whose memory it is */
    uint64_t charged_bytes;
    uint64_t address, bytes;
};

/* Memory of a graph comes or goes (graph_memory.c). */
struct sc_graph_memory_work {
    struct sc_graph_memory *memory; /* a reference */
    bool live;
};

struct sc_op {
    struct sc_op *next, *previous;                 /* the list of entries that are not timed */
    struct sc_op *next_pending, *previous_pending; /* the list of those that are not executed */
    uint64_t id;
    enum sc_op_kind kind;
    enum sc_op_state state;
    unsigned refs;
    bool wanted;        /* somebody waits for it */
    bool dropped;       /* the context faulted or the process ends: not executed */
    bool whole_context; /* SYNC: waits for all of the context */
    uint64_t graph;     /* the launch of a graph that it is part of: id of its first operation; 0: none */
    bool in_graph;      /* a node of a graph, whose addresses nobody has looked at since it was made */
    bool held;          /* of use to queue.c only */
    bool timed;
    bool meets_peers;  /* it is executed with what other ranks do (peers.h) */
    bool said_ended;   /* the program was told so before the times were known */
    bool arrived, met; /* of it: the peers know its time; it knows theirs */
    bool takes_long;   /* of it, and of host functions: what does not depend on it goes on without it */
    const struct sc_native_peers *peers; /* where it meets peers */
    void *token;                         /* of the same; NULL before it began */
    struct sc_op *next_call;             /* for calls.h */
    struct sc_context *context;
    struct sc_device *device; /* NULL: of none */
    struct sc_thread *thread;
    unsigned long long stream_id;
    uint64_t call_ns; /* the thread's host time since its previous entry */
    struct sc_op **dependencies;
    size_t dependency_count, dependency_capacity;
    bool has_predecessor; /* dependencies[0] is the stream's previous operation */
    uint64_t start_ns, end_ns;
    struct sc_cost cost;
    /* For races.h. */
    const struct sc_site *site;
    struct sc_moment moment;
    struct sc_clock *clock; /* owned; NULL before it is timed */
    uint64_t fault_address; /* of a kernel: what it could not access, or 0 */
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
        struct sc_user_set *kept; /* JOIN: what a graph's launch keeps alive, or NULL */
        int64_t charge_bytes;
        struct sc_span span; /* MANAGED_*, ALLOCATE, FRESH */
    };
};

/* A new entry that the caller fills and hands to one of the next two, which own it from then on. NULL: no
 * memory. */
struct sc_op *sc_op_new(enum sc_op_kind kind, struct sc_context *context);
/* Drops a reference; an entry that was never submitted is freed with what it owns. Accepts NULL. */
void sc_op_unref(struct sc_op *op);
/* Adds a dependency, NULL is none. false: no memory. */
bool sc_op_depends(struct sc_op *op, struct sc_op *on);

/* Hands over `buffer`, from malloc, as the copy's source. */
void sc_op_own_snapshot(struct sc_op *op, void *buffer, uint64_t bytes);

/* Submits `count` > 0 operations as one: the first comes after the stream's work so far and the stream's
 * later work after the last, whose dependencies must make it the end of all of them; those between have their
 * dependencies only. Owns all of them from then on. May execute. */
CUresult sc_queue_submit_graph(struct sc_stream *stream, struct sc_op **ops, size_t count);
/* Submits work to a stream, or captures it if the stream is captured. May execute (schedule eager, or a full
 * queue). */
CUresult sc_queue_submit(struct sc_stream *stream, struct sc_op *op);
/* Submits and waits: a synchronous call. Executes. */
CUresult sc_queue_submit_and_wait(struct sc_stream *stream, struct sc_op *op);
/* Enters an act of the host. Executes nothing. */
void sc_queue_host(struct sc_op *op);

/* The calling thread waits, on the simulated clock too. Each executes. */
CUresult sc_queue_wait_op(struct sc_op *op);
CUresult sc_queue_wait_context(struct sc_context *context);

/* True when `op`, NULL counting as done, has ended on the calling thread's clock. Executes what is needed to
 * know. A false answer advances the clock a little. */
bool sc_queue_ended(struct sc_op *op);

/* Executes and times everything up to `op` and to the calling thread's last entry, but for what waits for
 * host functions that take long. */
void sc_queue_settle(struct sc_op *op);

/* For calls.h: a host function has ended. */
void sc_queue_called(struct sc_op *op);

/* For peers.h. Executes and times what peers wait for, or waits until there is something to do. */
void sc_queue_serve_peers(void);
/* A launch that meets peers ran, with this result. */
void sc_queue_ran(struct sc_op *op, CUresult fault);
/* Times what can be timed, and waits for progress if `op` still cannot be and nobody knows its time. */
void sc_queue_await_time(struct sc_op *op);
/* Times it as soon as its peers' times are known; what does not depend on it is no longer held up. */
void sc_queue_takes_long(struct sc_op *op);

/* Waits until no operation runs but host functions; others may then be queued. */
void sc_queue_let_finish(void);

/* At exit: gives up what nobody waited for, and times the rest. */
void sc_queue_close(void);

/* execute.c: does what the operation says. pre: the lock is NOT held. Returns the context's fault, or
 * success. */
CUresult sc_op_execute(struct sc_op *op);
/* replay.c: gives an executed entry its times and writes its timeline. */
void sc_op_time(struct sc_op *op);
/* replay.c: the same for a launch that meets peers, before sc_op_time: tells them when it could begin. */
void sc_op_arrive(struct sc_op *op);
void sc_timeline_flush(void);
void sc_timeline_close(void);

#endif
