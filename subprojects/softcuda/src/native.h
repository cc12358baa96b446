/* Kernels written in C, for softcuda's own libraries (cuBLAS, NCCL). The libraries launch them by
 * cuLaunchKernel like any other kernel, so that a library that interposes the driver sees the launches.
 *
 * A library passes its image to `trust`, which it gets from cuGetExportTable, and then loads the image with
 * cuLibraryLoadData. An image is a pointer into the process: the driver refuses an image that was not passed
 * to `trust`.
 */
#ifndef SOFTCUDA_NATIVE_H
#define SOFTCUDA_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

/* `rows` rows of `width` bytes; row starts are `pitch` bytes apart. */
struct sc_native_access {
    uint64_t address, width, pitch, rows;
    bool reads, writes;
    bool either; /* each byte is read or written, which is not known: with both set it counts as one access */
};

/* One launch, as the kernel's functions see it. */
struct sc_native_launch {
    const struct sc_native_kernel *kernel;
    const void *parameters; /* the packed parameter block */
    uint32_t grid[3], block[3];

    /* For `describe`: the live memory around an address, as sc_address_space.find. */
    bool (*find)(struct sc_native_launch *launch, uint64_t address, struct sc_range *out);
    /* For `describe`: records an access of the launch. After it returns true, `describe` may read the memory.
     * Records nothing if width or rows is 0. false: part of the range is not live memory, or there is no host
     * memory. */
    bool (*touch)(struct sc_native_launch *launch, const struct sc_native_access *access);
    uint64_t flops;                /* `describe` adds to it */
    struct sc_matrix_work product; /* `describe` may set it */

    /* For `run`: calls work(context, i) for every i below `count`, possibly concurrently. */
    void (*parallel)(struct sc_native_launch *launch, uint32_t count,
                     void (*work)(void *context, uint32_t index), void *context);
    uint64_t message_bytes_most; /* for peers->run: of each message no more has to arrive; 0: all of it */
};

/* For kernels that wait on the device for kernels of other ranks, which run on other devices, in this process
 * or in others. Each such launch runs in a thread of its own: only work that stream order or events place
 * behind it waits for it. All work submitted before it is executed and timed even if no host thread waits for
 * it.
 *
 * A launch starts on the simulated clock when the last of its ranks is ready, so its times are known once
 * every rank has reported when it is ready. Times are assigned in submission order, independently of
 * execution (queue.h). */
enum sc_meeting {
    SC_MET,
    SC_MEETING_HERE,      /* a rank of this process has not arrived; its launch may be behind this one in the
                             same queue */
    SC_MEETING_ELSEWHERE, /* only ranks of other processes have not arrived */
};

struct sc_native_peers {
    /* Called once, when all dependencies of the launch have completed, so launches of one communicator begin
     * in stream order, whether in a graph or not. Returns a *token* for the other functions. Must not block.
     * NULL: no host memory. */
    void *(*begin)(const void *parameters);
    /* Called instead of the kernel's `run`. Does the launch's work, and returns when its peers have done the
     * part of theirs that it needs. false: a peer is gone or there is no host memory; the launch faults. */
    bool (*run)(struct sc_native_launch *launch, void *token);
    /* Called once, with the driver's lock held, before or after `run` returns. On this rank the launch can
     * begin at `ready_ns` and takes at least `busy_ns`, for its accesses to this device's memory alone. Must
     * not block or call the driver. */
    void (*arrive)(void *token, uint64_t ready_ns, uint64_t busy_ns);
    /* Called after `arrive`. Once all ranks have arrived, or cannot arrive any more, sets *start_ns and
     * *end_ns, to the same values on all ranks. Waits up to `patience_ms` ms of real time. With 0 it does not
     * wait, and the caller holds the driver's lock. Thread-safe. */
    enum sc_meeting (*meet)(void *token, unsigned patience_ms, uint64_t *start_ns, uint64_t *end_ns);
    /* The last call for a token. */
    void (*end)(void *token);
};

struct sc_native_kernel {
    const char *name;
    const struct sc_parameter *parameters;
    uint32_t parameter_count, parameter_bytes;
    /* Calls `touch` for all memory that `run` will access. false: a `touch` failed; the launch faults. */
    bool (*describe)(struct sc_native_launch *launch);
    /* Results must not depend on the number of workers. false: no host memory. */
    bool (*run)(struct sc_native_launch *launch);
    const struct sc_native_peers *peers; /* or NULL */
};

#define SC_NATIVE_MAGIC 0x766974616e006373u

struct sc_native_image {
    uint64_t magic;
    const struct sc_native_kernel *kernels;
    size_t kernel_count;
};

/* Identity of the table that cuGetExportTable returns. */
#define SC_NATIVE_TABLE_ID                                                                                   \
    {                                                                                                        \
        0x73, 0x6f, 0x66, 0x74, 0x63, 0x75, 0x64, 0x61, 0x6e, 0x61, 0x74, 0x69, 0x76, 0x65, 0x00, 0x01       \
    }

struct sc_native_table {
    size_t bytes; /* of this structure */
    /* The caller must keep the image and everything that it points to unchanged until the process ends.
     * Thread-safe. false: too many images, or not an image. */
    bool (*trust)(const struct sc_native_image *image);
    /* Bandwidth between a rank and its peers, in each direction, and the minimum latency of a message. */
    double peer_bytes_per_ns;
    uint64_t peer_latency_ns;
};

#endif
