/* One thread that runs blocks of a launch, and what it counts. */
#ifndef SOFTCUDA_ENGINE_WORKER_H
#define SOFTCUDA_ENGINE_WORKER_H

#include "accesses.h"
#include "group.h"
#include "order.h"
#include "profile.h"
#include "touches.h"
#include "vec.h"

struct sc_traffic_slot {
    uint64_t block; /* address >> 21, plus 1; 0 for an empty slot */
    uint64_t bytes_read, bytes_written;
};

/* Traffic by 2 MiB block: an open-addressing table */
struct sc_traffic {
    struct sc_traffic_slot *slots;
    uint32_t capacity, count; /* capacity is a power of two, or 0 */
    struct sc_traffic_slot *last;
    bool failed; /* no memory */
};

struct sc_worker {
    const struct sc_launch *launch;
    const struct sc_program *program;
    struct sc_group *groups;
    uint32_t group_count;
    unsigned char *memory; /* everything below is part of it, but local memory if that is large */
    unsigned char *stacks; /* local memory then, or NULL */
    unsigned char *shared;
    unsigned char *local; /* local_bytes for each thread of the block */
    const unsigned char *parameters;
    uint32_t shared_bytes;
    uint64_t instructions, flops, bytes_read, bytes_written;
    uint64_t watchdog_left;
    uint64_t patience; /* instructions after which call_for_help(context) is called, once, if it is set */
    uint64_t floor;    /* what watchdog_left may sink to before that */
    void (*call_for_help)(void *context);
    void *context;
    uint32_t parameter_bytes;
    struct sc_traffic traffic;
    struct sc_touches *touches;             /* NULL: nobody asks */
    struct sc_accesses *accesses;           /* the same */
    bool watched;                           /* somebody asks for one of them */
    struct sc_profile_kind *kinds;          /* NULL: nobody asks */
    struct sc_product_plans *product_plans; /* of matrix instructions; NULL until the first */
    uint32_t block[3];
    uint32_t arrived[16]; /* threads that bar.arrive counted, by barrier */
    struct sc_fault fault;
    /* Of functions that need an order of blocks, in launches with several workers: see order.h */
    struct sc_order *order;
    uint64_t block_index;
    struct sc_log log;
    uint64_t began, waited; /* instructions when the block began, and when it took its turn, if it had to */
    bool ahead;             /* the block is not in turn */
    bool given_up;          /* it will never be */
    bool in_the_way;        /* the last block gained nothing by running ahead */
};

/* Allocates what a worker needs; false when there is no memory. `parameters` is 16-byte aligned and outlives
 * it. */
bool sc_worker_init(struct sc_worker *worker, const struct sc_launch *launch,
                    const unsigned char *parameters);
void sc_worker_free(struct sc_worker *worker);

/* Runs one block to its end. False when it faulted: worker->fault says how. pre: the launch is not
 * cooperative. */
bool sc_worker_run(struct sc_worker *worker, uint32_t x, uint32_t y, uint32_t z);

/* Of a cooperative launch: makes the worker stand for one block, and runs that until it ends, or waits for
 * something that another block may do. */
enum sc_progress { SC_PROGRESS_DONE, SC_PROGRESS_WAITS, SC_PROGRESS_FAULT };
void sc_worker_begin(struct sc_worker *worker, uint32_t x, uint32_t y, uint32_t z);
enum sc_progress sc_worker_go_on(struct sc_worker *worker);

#define SC_TRAFFIC_SHIFT 21

/* The slot of one 2 MiB block; NULL when there is no memory (traffic->failed is then set). */
struct sc_traffic_slot *sc_traffic_slot(struct sc_traffic *traffic, uint64_t block);
void sc_traffic_free(struct sc_traffic *traffic);

/* Counts `bytes` bytes that start at `address`, all of them in one run. */
void sc_traffic_add(struct sc_worker *worker, uint64_t address, uint64_t bytes, bool write);
/* Counts what a link moves for accesses that all lie in the block of `address`, however much that is. */
void sc_traffic_add_here(struct sc_worker *worker, uint64_t address, uint64_t bytes, bool write);

/* pre: the worker is watched and the bytes are not on the chip. */
void sc_note_access(struct sc_worker *worker, uint64_t address, uint64_t bytes, enum sc_access_kind kind);

/* Notes what one access touched, for those who ask. */
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
