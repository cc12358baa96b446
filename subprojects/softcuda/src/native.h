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

struct sc_native_kernel {
    const char *name;
    const struct sc_parameter *parameters;
    uint32_t parameter_count, parameter_bytes;
    /* Touches everything that `run` will access. false: a touch failed, and the launch faults. */
    bool (*describe)(struct sc_native_launch *launch);
    /* Results must not depend on how many workers there are. false: no host memory. */
    bool (*run)(struct sc_native_launch *launch);
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
};

#endif
