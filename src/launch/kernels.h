/* What is known of each kernel: its name and where its parameters lie. Asked of the backend once for each
 * handle, and forgotten when modules are unloaded, since handles are used again. Caller holds the order lock.
 */
#ifndef SLUICE_KERNEL_H
#define SLUICE_KERNEL_H

#include <string.h>

#include "base/map.h"
#include "device/backend.h"
#include "launch/address_lists.h"
#include "launch/launch.h"
#include "launch/stale_words.h"

struct sl_kernel {
    uint64_t name_hash;
    const char *name;   /* lives as long as the process: the trace and the log point to it */
    uint32_t announced; /* in which of the trace's laps its name was written, counted from 1 */
    bool meets_peers;   /* NCCL's, by its name */
    uint64_t module;    /* whose it is, or 0 */
    uint32_t parameter_count;
    uint32_t *offsets, *sizes;
    uint32_t
        *words; /* where pointers may be, in order: parameter << 16 | offset in it, in whole aligned words */
    uint32_t word_count;
    struct sl_word_evidence *evidence; /* for each of `words` */
    struct sl_address_lists lists;
};

struct sl_kernels {
    const struct sl_backend *backend;
    struct sl_kernel *kernels; /* number 0 is no kernel */
    uint32_t count, capacity;
    struct sl_map by_handle;
    uint64_t version; /* counts how often handles were forgotten */
};

/* By its name one of NCCL's, which are the same in all programs that have it, linked in or not. */
static inline bool sl_kernel_is_collective(const char *name)
{
    return !strncmp(name, "ncclDevKernel", 13) || !strncmp(name, "ncclKernel", 10) ||
           strstr(name, "13ncclDevKernel") || strstr(name, "10ncclKernel");
}

void sl_kernels_init(struct sl_kernels *kernels, const struct sl_backend *backend);
void sl_kernels_close(struct sl_kernels *kernels); /* accepts a zeroed one; names are kept */

/* The kernel's number, from 1; 0 when nothing can be known. pre: the launching stream captures nothing, or
 * the handle was asked for before. */
uint32_t sl_kernels_find(struct sl_kernels *kernels, uint64_t handle);

/* Where the launch has word `w` of its parameters, or NULL where it has none. */
static inline const char *sl_kernel_word(const struct sl_launch *launch, const struct sl_kernel *kernel,
                                         uint32_t w)
{
    uint32_t parameter = kernel->words[w] >> 16, at = kernel->words[w] & 0xffff;
    if (launch->parameters) {
        const char *value = launch->parameters[parameter];
        return value ? value + at : NULL;
    }
    uint64_t offset = (uint64_t)kernel->offsets[parameter] + at;
    return launch->packed && offset + 8 <= launch->packed_bytes ? (const char *)launch->packed + offset
                                                                : NULL;
}

/* Where the launch has parameter `p`, all of its bytes, or NULL where it has none. */
static inline const char *sl_kernel_parameter(const struct sl_launch *launch, const struct sl_kernel *kernel,
                                              uint32_t p)
{
    if (launch->parameters) return launch->parameters[p];
    uint64_t end = (uint64_t)kernel->offsets[p] + kernel->sizes[p];
    return launch->packed && end <= launch->packed_bytes ? (const char *)launch->packed + kernel->offsets[p]
                                                         : NULL;
}

/* How many entries of the kernel's arrays of addresses the launch uses; 0: it has none that are known. */
static inline uint32_t sl_kernel_entries(const struct sl_launch *launch, const struct sl_kernel *kernel)
{
    const struct sl_address_lists *lists = &kernel->lists;
    return lists->capacity ? sl_address_lists_used(
                                 lists, sl_kernel_parameter(launch, kernel, lists->parameter), launch->grid)
                           : 0;
}

/* Whether word `w` may be an address where so many entries are used. */
static inline bool sl_kernel_word_used(const struct sl_kernel *kernel, uint32_t w, uint32_t entries)
{
    return sl_address_lists_has(&kernel->lists, kernel->words[w] >> 16, kernel->words[w] & 0xffff, entries);
}

/* The number of the kernel with this name and layout, which need not be loaded yet. 0: out of memory. */
uint32_t sl_kernels_know(struct sl_kernels *kernels, const struct sl_kernel_layout *layout);

/* Whether word `w` is part of a structure, which may have room that nobody fills. */
static inline bool sl_kernel_word_in_structure(const struct sl_kernel *kernel, uint32_t w)
{
    return kernel->sizes[kernel->words[w] >> 16] > sizeof(uint64_t);
}

/* What distinguishes an access from others of its launch: the parameter and where in it (struct sl_access),
 * but only the parameter where that is a structure, since stale words (stale_words.h) may repeat its
 * addresses. */
static inline uint32_t sl_kernels_role(const struct sl_kernels *kernels, uint64_t parameter, uint32_t where)
{
    const struct sl_kernel *kernel = &kernels->kernels[parameter >> 32];
    if (!(parameter >> 32) || where >> 16 >= kernel->parameter_count) return where;
    return kernel->sizes[where >> 16] > sizeof(uint64_t) ? where | 0xffff : where;
}

void sl_kernels_forget(struct sl_kernels *kernels);

#endif
