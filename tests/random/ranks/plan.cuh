/* A random program of several ranks, as it is planned before any of them starts: what each rank calls, in
 * which order, and what it has to read. */
#ifndef RANKS_PLAN_CUH
#define RANKS_PLAN_CUH

#include <nccl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_RANKS = 4,
    STREAMS = 4,
    MOST_OPS = 2000,
    MOST_CALLS = 1000,
    MOST_BUFFERS = 400,
    MOST_USES = 24,
    MOST_WAITS = 32
};

/* All ranks; all ranks, numbered backwards; some of the ranks. The latter two are split off the first. */
enum { WORLD, BACKWARDS, PARTS, COMMS };

enum OpKind {
    OP_MALLOC,
    OP_FREE,
    OP_MALLOC_ASYNC,
    OP_FREE_ASYNC,
    OP_KERNEL,
    OP_COPY,
    OP_SET,
    OP_UPLOAD,
    OP_READ,     /* to the host; compared at the end */
    OP_READ_NOW, /* the same, waits for its stream and compares */
    OP_SYNC_STREAM,
    OP_SYNC_EVENT,
    OP_POLL_EVENT, /* asks until it has passed */
    OP_SYNC_DEVICE,
    OP_TELL, /* a byte to another rank, through a pipe */
    OP_HEAR,
    OP_COLLECTIVES, /* one or several calls of NCCL on one communicator: a group */
    OP_KINDS,
};

enum Kernel { KERNEL_FILL, KERNEL_MIX, KERNEL_REVERSE, KERNELS };

enum Function {
    ALL_REDUCE,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    ALL_TO_ALL,
    GATHER,
    SCATTER,
    FUNCTIONS,
    SEND = FUNCTIONS,
    RECEIVE,
};

/* Bytes in a buffer; buffer -1: none. */
struct Place {
    int buffer;
    size_t offset;
};

struct Call {
    Function function;
    Place from, to;
    size_t count; /* elements, as NCCL has it */
    ncclDataType_t type;
    ncclRedOp_t reduction;
    int peer; /* or root: a rank of the communicator */
    int stream;
};

struct Use {
    int buffer, stream;
    bool write;
};

struct Op {
    OpKind kind;
    int index;        /* in the order of the plan */
    unsigned streams; /* that it works in, or waits for: one bit each */
    int stream;
    int wait_count;
    struct {
        int op, stream;
    } waits[MOST_WAITS]; /* for events, on the device */
    bool recorded;       /* somebody waits for its event */
    int after;  /* the last call that waits on the host, or allocates, that has to come before; -1: none */
    bool early; /* comes as early as it may */
    int use_count;
    Use uses[MOST_USES];
    Place to, from;
    size_t bytes;
    uint32_t value;
    Kernel kernel;
    int other; /* the op whose event is waited for, or the other rank */
    int comm, first_call, call_count;
    size_t host_offset;      /* in pinned memory */
    const uint8_t *expected; /* of a read */
    int known[STREAMS];      /* the last op of each stream that has ended when this one has */
};

struct Buffer {
    size_t bytes;
    bool async, live;
    uint8_t *model;
    int allocation; /* the op of cudaMalloc, or -1 */
    int writer, writer_stream, readers[STREAMS], last_use;
};

struct Rank {
    Op ops[MOST_OPS];
    int op_count, order[MOST_OPS]; /* in which they are called */
    Call calls[MOST_CALLS];
    int call_count;
    Buffer buffers[MOST_BUFFERS];
    int buffer_count;
    size_t live_bytes, peak_bytes, host_bytes;
    int known[STREAMS][STREAMS]; /* for each stream, the last op of each that comes before its next one */
    int host[STREAMS], host_op;  /* the same of the host, and the op by which it learned that */
    int colors[COMMS], ranks[COMMS], sizes[COMMS], members[COMMS][MOST_RANKS];
    int avoided_stream, avoided_buffer; /* what is made now leaves these alone, or -1 */
    int forced_stream, forced_buffer;   /* of the next call, and where it writes; or -1 */
};

struct Plan {
    uint64_t seed, random;
    int rank_count;
    size_t room_bytes;        /* for each rank's buffers */
    bool polls;               /* asks events in a loop whether they have passed, and does not only wait */
    bool one_communicator;    /* and no messages: all ranks have the same collectives in one order */
    bool early_before_malloc; /* calls may come before a cudaMalloc that was planned before them */
    Rank ranks[MOST_RANKS];
};

static inline uint64_t next_random(Plan *p)
{
    uint64_t z = p->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline size_t below(Plan *p, size_t limit)
{
    return limit ? next_random(p) % limit : 0;
}

static inline bool chance(Plan *p, int percent)
{
    return (int)below(p, 100) < percent;
}

static inline void stop(const char *why)
{
    fprintf(stderr, "random_ranks: %s\n", why);
    _Exit(2);
}

#endif
