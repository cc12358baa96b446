/* The times of operations on the simulated device.
 *
 * Operations are placed on the clock in submission order, after their execution. An operation starts when it
 * is ready and its engine is free: there is one engine for kernels and one for each direction of the link. Of
 * one host thread, an engine takes operations in the order in which they were submitted; those of another
 * thread may go between them. An operation that has been placed is never moved: if two transfers in opposite
 * directions overlap, the one that is placed later is slowed. Thread safety: none; the caller holds the
 * driver's lock.
 */
#ifndef SOFTCUDA_TIMING_H
#define SOFTCUDA_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"
#include "footprint.h"
#include "managed.h"
#include "timeline.h"

/* What the driver does besides copying; zeros: an ideal one. Costs are for a block of 2 MiB. */
struct sc_driver_costs {
    bool is_real; /* its calls take time of a thread (moves.h) */
    uint64_t map_ns, unmap_ns, remap_ns, discard_ns;
    uint64_t retire_ns; /* a stream counts as busy so long after its last operation */
    double both_part;   /* of the link's rate in each direction, at most, while both are busy */
    double page_factor; /* of the link's rate that migrations reach, by the host's page size */
};

struct sc_machine {
    uint64_t memory_bytes;
    double device_bytes_per_ns, flops_per_ns;
    double matrix_flops_per_ns[SC_RATES]; /* peaks; 0: as flops_per_ns */
    uint64_t processors;                  /* which share a matrix product */
    double link_in_bytes_per_ns, link_out_bytes_per_ns, link_both_bytes_per_ns;
    uint64_t launch_ns, fault_ns;
    uint64_t node_ns;         /* replaces launch_ns in a graph */
    double peer_bytes_per_ns; /* between devices, in each direction; 0: by the links to the host */
    uint64_t peer_ns;         /* minimum latency of a message between devices */
    struct sc_driver_costs driver;
};

/* SC_ENGINE_PEERS: launches that meet other ranks. They need few multiprocessors, so kernels run beside
 * them. */
enum sc_timing_engine {
    SC_ENGINE_COMPUTE,
    SC_ENGINE_COPY_IN,
    SC_ENGINE_COPY_OUT,
    SC_ENGINE_PEERS,
    SC_ENGINES
};

/* What one thread has given to the engines: they go on behind it. */
struct sc_order {
    uint64_t end_ns[SC_ENGINES];
};

enum sc_work_kind {
    SC_WORK_NONE, /* takes no time: events, waits, host functions */
    SC_WORK_KERNEL,
    SC_WORK_COPY,
    SC_WORK_SET,
    SC_WORK_PREFETCH,
    SC_WORK_DISCARD,
    SC_WORK_DISCARD_PREFETCH,
};

enum sc_side { SC_SIDE_DEVICE, SC_SIDE_PINNED, SC_SIDE_PAGEABLE, SC_SIDE_MANAGED };

struct sc_span {
    uint64_t address, bytes;
    enum sc_place to; /* of a prefetch */
    int ordinal;      /* of the device, if `to` is SC_DEVICE */
};

struct sc_work {
    enum sc_work_kind kind;
    uint64_t ready_ns;
    bool in_graph;
    struct sc_order *order;      /* of the thread that submitted it; NULL: it comes behind everything */
    const struct sc_cost *cost;  /* kernel */
    struct sc_span destination;  /* copy, set */
    struct sc_span source;       /* copy */
    enum sc_side to, from;       /* copy, set */
    const struct sc_span *spans; /* prefetch, discard */
    uint64_t span_count;
    struct sc_moves *moves; /* prefetch, discard: of the process; NULL for an ideal driver */
    bool is_deferred;       /* the stream is not idle, so that a thread of the driver's does it */
};

struct sc_placed {
    uint64_t start_ns, end_ns;
    struct sc_effect effect;
};

struct sc_timing {
    struct sc_machine machine;
    struct sc_managed managed;
    struct sc_timeline_engine {
        struct sc_timeline busy;
        uint64_t busy_ns; /* with meetings, and without the pauses for them */
    } engines[SC_ENGINES];
    /* When meetings occupy the links to the host. A meeting may start long after it was placed, because its
     * ranks wait for each other; transfers that are placed later may use the links before that. */
    struct sc_timeline meetings;
    struct sc_effect totals;
    uint64_t launches, flops, device_bytes, end_ns;
    uint64_t blocks, executed_blocks; /* of kernels of PTX */
    struct sc_footprint footprint;    /* device bytes: allocated and resident */
    struct sc_footprint allocated;    /* bytes allocated by cuMemAlloc */
};

void sc_timing_init(struct sc_timing *timing, const struct sc_machine *machine);
void sc_timing_destroy(struct sc_timing *timing);

/* Bounds the memory. pre: nothing that is placed later is ready before `before_ns`. */
void sc_timing_forget(struct sc_timing *timing, uint64_t before_ns);

/* How many intervals it remembers. */
size_t sc_timing_remembered(const struct sc_timing *timing);

/* Places one operation and applies its effect on managed memory. */
void sc_timing_place(struct sc_timing *timing, const struct sc_work *work, struct sc_placed *out);

/* The two steps for a kernel that meets other ranks. sc_timing_arrive: when it can begin, its minimum
 * duration, and its effect on managed memory. sc_timing_meet: places it. */
void sc_timing_arrive(struct sc_timing *timing, const struct sc_work *work, uint64_t *ready_ns,
                      uint64_t *busy_ns, struct sc_effect *effect);
void sc_timing_meet(struct sc_timing *timing, uint64_t start_ns, uint64_t end_ns,
                    const struct sc_effect *effect);

/* Device memory is allocated (bytes > 0) or freed at `at_ns`. */
void sc_timing_charge(struct sc_timing *timing, uint64_t at_ns, int64_t bytes);

/* Moves `bytes` of managed memory to the host, because another device needs them. Returns the time at which
 * they are in host memory. */
uint64_t sc_timing_bring_home(struct sc_timing *timing, uint64_t ready_ns, uint64_t bytes,
                              const struct sc_effect *effect);

/* The CPU accesses the block that holds `address`, which only this device has: it moves to the host. Returns
 * when it is there, and mapped. */
uint64_t sc_timing_host_fault(struct sc_timing *timing, uint64_t at_ns, uint64_t address);

/* Places a copy from one device's memory to a peer's. */
void sc_timing_place_between(struct sc_timing *from, struct sc_timing *to, uint64_t ready_ns, uint64_t bytes,
                             struct sc_placed *out);

/* Adds an effect that belongs to no operation, such as freeing managed memory, or advice. */
void sc_timing_apply(struct sc_timing *timing, uint64_t start_ns, uint64_t end_ns,
                     const struct sc_effect *effect);

void sc_effect_add(struct sc_effect *sum, const struct sc_effect *effect);
uint64_t sc_effect_in(const struct sc_effect *effect);  /* bytes to the device, all causes */
uint64_t sc_effect_out(const struct sc_effect *effect); /* bytes from the device, all causes */

#endif
