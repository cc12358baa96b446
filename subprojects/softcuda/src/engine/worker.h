/* One thread that runs blocks of a launch, and its counters. */
#ifndef SOFTCUDA_ENGINE_WORKER_H
#define SOFTCUDA_ENGINE_WORKER_H

#include "accesses.h"
#include "group.h"
#include "order.h"
#include "profile.h"
#include "sample.h"
#include "touches.h"
#include "vec.h"

struct sc_traffic_slot {
    uint64_t block; /* address >> 21, plus 1; 0 for an empty slot */
    uint64_t bytes_read, bytes_written;
};

/* Traffic per 2 MiB block: an open-addressing table */
struct sc_traffic {
    struct sc_traffic_slot *slots;
    uint32_t capacity, count; /* capacity is a power of two, or 0 */
    struct sc_traffic_slot *last;
    bool failed; /* no memory */
};

/* The last compare-and-swap that found another value than it expected, and how often in a row. */
struct sc_refusal {
    uint64_t address, expected, count;
};

struct sc_worker {
    const struct sc_launch *launch;
    const struct sc_program *program;
    struct sc_group *groups;
    uint32_t group_count;
    unsigned char *memory; /* holds everything below, except local memory if that is large */
    bool owns_memory;
    unsigned char *stacks; /* local memory if it is large, or NULL */
    unsigned char *shared;
    unsigned char *local; /* local_bytes for each thread of the block */
    const unsigned char *parameters;
    const uint64_t *barrier; /* of the grid, in a cooperative launch; else NULL */
    uint32_t shared_bytes;
    uint64_t instructions, flops, bytes_read, bytes_written;
    uint64_t watchdog_left;
    uint64_t patience; /* number of instructions after which call_for_help(context) is called once; 0:
                          never */
    uint64_t floor;    /* value of watchdog_left at which that call is due */
    void (*call_for_help)(void *context);
    void *context;
    uint32_t parameter_bytes;
    struct sc_traffic traffic;
    struct sc_touches *touches;   /* NULL: not requested */
    struct sc_accesses *accesses; /* NULL: not requested */
    struct sc_sample *sample;     /* notes the block that runs; NULL: none does */
    struct sc_refusal refusal;
    bool watched;                           /* touches, accesses or a sample are requested */
    struct sc_profile_kind *kinds;          /* NULL: no profile is requested */
    struct sc_product_plans *product_plans; /* of matrix instructions; NULL until the first one */
    uint32_t block[3];
    uint32_t arrived[16]; /* threads counted by bar.arrive, per barrier */
    struct sc_fault fault;
    /* For functions whose results depend on the order of blocks, in launches with several workers: see
     * order.h */
    struct sc_order *order;
    uint64_t block_index;
    struct sc_log log;
    uint64_t began, waited; /* instruction counts when the block began and when it took its turn, if it had
                               to */
    bool ahead;             /* the block runs ahead of its turn */
    bool given_up;          /* its turn will never come */
    bool in_the_way;        /* running ahead did not speed up the last block */
};

/* What the workers of a launch have in common; outlives them. */
struct sc_common {
    unsigned char *parameters; /* 64-byte aligned */
    uint64_t barrier;          /* of the grid */
};

/* The memory that a worker of this launch needs, a multiple of 4096. */
size_t sc_worker_bytes(const struct sc_launch *launch);

/* Prepares a worker. `memory`: as many bytes, aligned to 4096, which outlive the worker; NULL: it allocates
 * them. false: no memory, or an instruction faulted; see worker->fault. */
bool sc_worker_init(struct sc_worker *worker, const struct sc_launch *launch, const struct sc_common *common,
                    unsigned char *memory);
void sc_worker_free(struct sc_worker *worker);

/* Runs one block to its end. false: it faulted; see worker->fault. pre: the launch is not cooperative. */
bool sc_worker_run(struct sc_worker *worker, uint32_t x, uint32_t y, uint32_t z);

/* For cooperative launches: sc_worker_begin assigns one block to the worker. sc_worker_go_on runs it until it
 * ends, or waits for something that another block may do. */
enum sc_progress { SC_PROGRESS_DONE, SC_PROGRESS_WAITS, SC_PROGRESS_FAULT };
void sc_worker_begin(struct sc_worker *worker, uint32_t x, uint32_t y, uint32_t z);
enum sc_progress sc_worker_go_on(struct sc_worker *worker);

#define SC_TRAFFIC_SHIFT 21

/* The slot of one 2 MiB block. NULL: no memory; traffic->failed is then set. */
struct sc_traffic_slot *sc_traffic_slot(struct sc_traffic *traffic, uint64_t block);
void sc_traffic_free(struct sc_traffic *traffic);
/* Makes it the cost's. False: no memory, now or during an earlier call. */
bool sc_traffic_blocks(const struct sc_traffic *traffic, struct sc_cost *cost);

/* Counts one contiguous access of `bytes` bytes at `address`. */
void sc_traffic_add(struct sc_worker *worker, uint64_t address, uint64_t bytes, bool write);
/* Counts `bytes` bytes of link traffic for accesses that all lie in the 2 MiB block of `address`. */
void sc_traffic_add_here(struct sc_worker *worker, uint64_t address, uint64_t bytes, bool write);

/* Records an access. pre: the worker is watched; the bytes are not in on-chip memory. */
void sc_note_access(struct sc_worker *worker, uint64_t address, uint64_t bytes, enum sc_access_kind kind);

/* Records an access if that is requested. */
static inline void sc_touch(struct sc_worker *worker, const struct sc_window *window, uint64_t address,
                            uint64_t bytes, enum sc_access_kind kind)
{
    if (__builtin_expect(worker->watched, 0) && window->kind != SC_WINDOW_ON_CHIP)
        sc_note_access(worker, address, bytes, kind);
}

static inline void sc_count_here(struct sc_worker *worker, const struct sc_window *window, uint64_t address,
                                 uint64_t bytes, bool write)
{
    if (window->kind == SC_WINDOW_ON_CHIP) return;
    if (write)
        worker->bytes_written += bytes;
    else
        worker->bytes_read += bytes;
    if (window->kind != SC_RANGE_DEVICE) sc_traffic_add_here(worker, address, bytes, write);
}

static inline void sc_count(struct sc_worker *worker, const struct sc_window *window, uint64_t address,
                            uint64_t bytes, bool write)
{
    if (window->kind == SC_WINDOW_ON_CHIP) return;
    if (write)
        worker->bytes_written += bytes;
    else
        worker->bytes_read += bytes;
    if (window->kind != SC_RANGE_DEVICE) sc_traffic_add(worker, address, bytes, write);
}

#endif
