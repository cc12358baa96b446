/* Kernels written in C, for softcuda's own libraries: how their work gets onto the device by cuLaunchKernel
 * like everybody's, visible to whoever interposes the driver.
 *
 * A library hands its image to `trust`, which it gets from cuGetExportTable, and then loads it with
 * cuLibraryLoadData. An image is a pointer into the process, so one that was not announced in this way is
 * bytes like any other and is refused.
 */
#ifndef SOFTCUDA_NATIVE_H
#define SOFTCUDA_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

/* `rows` pieces of `width` bytes, `pitch` bytes from the start of one to the start of the next. */
struct sc_native_access {
    uint64_t address, width, pitch, rows;
    bool reads, writes;
};

/* One launch, as its kernel sees it. */
struct sc_native_launch {
    const void *parameters; /* the packed block */

    /* For `describe`. Notes what the launch accesses; false: part of it is no live memory, or the host's
     * memory ran out. The contents may be read from then on. Nothing is noted where width or rows is 0. */
    bool (*touch)(struct sc_native_launch *launch, const struct sc_native_access *access);
    uint64_t flops; /* `describe` adds to it */

    /* For `run`. Calls work(context, i) for every i below `count`, some of them at the same time. */
    void (*parallel)(struct sc_native_launch *launch, uint32_t count,
                     void (*work)(void *context, uint32_t index), void *context);
};

/* Of kernels that wait, on the device, for kernels that other ranks launch: on other devices, in this process
 * or in others. Each such launch runs in a thread of its own, so that nothing waits for it but what stream
 * order and events put behind it. All that was submitted before it is executed and timed without anybody's
 * wait.
 *
 * A launch gets its place on the simulated clock when all ranks have told theirs: it begins when the last of
 * them is ready. That is settled in the order of submission, apart from the execution (queue.h). */
enum sc_meeting {
    SC_MET,
    SC_MEETING_HERE,      /* a rank of this process has not arrived, and may stand behind in the same queue */
    SC_MEETING_ELSEWHERE, /* only ranks of other processes have not */
};

struct sc_native_peers {
    /* Once, when all that the launch comes after is done: a *token* for the other functions. So launches of
     * one communicator begin in stream order, those out of graphs too. May not block. NULL: no host memory.
     */
    void *(*begin)(const void *parameters);
    /* Instead of the kernel's `run`: does the launch's work, and returns when its peers did as much of theirs
     * as it needs. false: a peer is gone or there is no host memory; the launch faults. */
    bool (*run)(struct sc_native_launch *launch, void *token);
    /* Once: on this rank the launch can begin at `ready_ns` and then takes `busy_ns` at least, for what it
     * does with this device's memory alone. With the driver's lock held: may not block, nor call the driver.
     * May be called before `run` has returned, or after. */
    void (*arrive)(void *token, uint64_t ready_ns, uint64_t busy_ns);
    /* After `arrive`. Once all ranks have arrived, or cannot any more, *start_ns and *end_ns are set, to the
     * same on all ranks. Waits for up to `patience_ms` ms of real time, not at all with 0: then it is called
     * with the driver's lock held. Thread-safe. */
    enum sc_meeting (*meet)(void *token, unsigned patience_ms, uint64_t *start_ns, uint64_t *end_ns);
    /* The last call for a token. */
    void (*end)(void *token);
};

struct sc_native_kernel {
    const char *name;
    const struct sc_parameter *parameters;
    uint32_t parameter_count, parameter_bytes;
    /* Touches everything that `run` will access. false: a touch failed, and the launch faults. */
    bool (*describe)(struct sc_native_launch *launch);
    /* Results must not depend on how many workers there are. false: no host memory. */
    bool (*run)(struct sc_native_launch *launch);
    const struct sc_native_peers *peers; /* or NULL */
};

#define SC_NATIVE_MAGIC 0x766974616e006373u

struct sc_native_image {
    uint64_t magic;
    const struct sc_native_kernel *kernels;
    size_t kernel_count;
};

/* The table of cuGetExportTable with this identity. */
#define SC_NATIVE_TABLE_ID                                                                                   \
    {                                                                                                        \
        0x73, 0x6f, 0x66, 0x74, 0x63, 0x75, 0x64, 0x61, 0x6e, 0x61, 0x74, 0x69, 0x76, 0x65, 0x00, 0x01       \
    }

struct sc_native_table {
    size_t bytes; /* of this structure */
    /* The image and what it points to stay as they are for as long as the process lives. Thread-safe.
     * false: too many images, or not an image. */
    bool (*trust)(const struct sc_native_image *image);
    /* What a rank sends to, and gets from, its peers in a nanosecond, at most; and what a message takes at
     * least. */
    double peer_bytes_per_ns;
    uint64_t peer_latency_ns;
};

#endif
