/* A launch as the program makes it: anything that makes the device work. */
#ifndef SLUICE_LAUNCH_H
#define SLUICE_LAUNCH_H

#include "device/backend.h"
#include "trace/events.h"

struct sl_core;
struct sl_footprint;

struct sl_span {
    uint64_t address, bytes;
    bool write;
};

/* What a collective sends to or receives from one rank. Ranks are numbered as in the communicator. */
struct sl_message {
    uint32_t peer, own;
    uint64_t bytes;
    enum sl_message_kind kind;
};

/* One launch, between begin and end. The shim fills the first part and zeroes the rest. */
struct sl_launch {
    enum sl_launch_kind kind;
    sl_stream stream;  /* from the program; with_ptsz calls pass CU_STREAM_PER_THREAD for NULL */
    uint64_t function; /* kernels: the CUfunction or CUkernel handle */
    uint32_t grid[3], block[3], shared_bytes;
    void *const *parameters; /* kernels: kernelParams, or NULL */
    const void *packed;      /* kernels: the buffer from `extra`, or NULL */
    uint64_t packed_bytes;
    struct sl_span spans[2]; /* copies and sets: the device ranges */
    uint32_t span_count;
    enum sl_copy_direction direction;
    uint64_t copied_bytes;            /* of copies between any memory; 0: those of the first span */
    const struct sl_span *more_spans; /* batches of copies, until begin returns: further ranges */
    uint32_t more_span_count;
    struct sl_upload {
        const void *from; /* in host memory, readable or not */
        uint64_t to, bytes;
    } upload;                          /* copies from foreign memory, or zeros */
    uint32_t collective;               /* collectives: kind as in include/sluice/trace.h; 0: several kinds */
    uint64_t communicator;             /* collectives: the same number on all ranks; 0: unknown */
    const struct sl_message *messages; /* collectives, until begin returns */
    uint32_t message_count;
    const struct sl_footprint *footprint; /* graphs: what the nodes may touch; NULL: unknown */

    /* Used by the core, from begin to end. */
    struct sl_core *core; /* that saw it begin, or NULL */
    sl_tick tick;
    bool meets_peers; /* it may wait for other ranks */
    void *state;
};

/* --- What a launch may touch, stored apart from the launch: addresses, not allocations. Used for graphs,
 * whose nodes are known long before they are launched. A footprint is one block of memory, freed with free().
 */

/* An arena address that a launch was given. */
struct sl_word {
    uint64_t address, bytes; /* bytes 0: unknown length */
    uint64_t parameter;      /* see struct sl_access, as is `where` */
    uint64_t threads;        /* 0: taken from the launch's grid */
    uint32_t where;
    bool only_read; /* known not to be written */
};

struct sl_footprint {
    uint64_t shape;       /* a hash of all but the addresses */
    uint64_t in_any_size; /* a hash of what is the same whatever its sizes; 0: nothing is, as in a graph */
    uint32_t count;
    struct sl_word words[];
};

/* A footprint with a copy of the words. NULL: out of memory. */
struct sl_footprint *sl_footprint_new(uint64_t shape, const struct sl_word *words, uint32_t count);

/* All that `parts` touch: each address once for each parameter, in the order of first mention. A NULL part
 * touches nothing. NULL: out of memory. */
struct sl_footprint *sl_footprint_join(const struct sl_footprint *const *parts, size_t count);

/* Whether it is another launch in another size, also where sizes vary. */
static inline bool sl_launch_has_sizes(const struct sl_launch *launch)
{
    return launch->footprint && !launch->footprint->in_any_size;
}

#endif
