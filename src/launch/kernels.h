/* The name and parameter layout of each kernel. The backend is queried once for each handle. Handles are
 * forgotten when modules are unloaded, since the driver reuses them. Caller holds the order lock. */
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
    const char *name;   /* never freed: the trace and the log point to it */
    uint32_t announced; /* the lap of the trace that has its name, counted from 1 */
    bool meets_peers;   /* may wait for other ranks: an NCCL kernel, by its name */
    uint64_t module;    /* that contains it, or 0 */
    uint32_t parameter_count;
    uint32_t *offsets, *sizes;
    uint32_t *words; /* possible pointers, in order: parameter << 16 | offset; whole aligned words */
    uint32_t word_count;
    struct sl_word_evidence *evidence; /* for each of `words` */
    struct sl_address_lists lists;
};

struct sl_kernels {
    const struct sl_backend *backend;
    struct sl_kernel *kernels; /* number 0 is no kernel */
    uint32_t count, capacity;
    struct sl_map by_handle;
    uint64_t version; /* counts the calls that forgot handles */
};

/* Whether it is an NCCL kernel by its name, which is the same for static and dynamic linking. */
static inline bool sl_kernel_is_collective(const char *name)
{
    return !strncmp(name, "ncclDevKernel", 13) || !strncmp(name, "ncclKernel", 10) ||
           strstr(name, "13ncclDevKernel") || strstr(name, "10ncclKernel");
}

void sl_kernels_init(struct sl_kernels *kernels, const struct sl_backend *backend);
void sl_kernels_close(struct sl_kernels *kernels); /* accepts a zeroed one; names are kept */

/* The kernel's number, from 1; 0: nothing is known. Precondition: the launching stream captures nothing, or
 * the handle was looked up before. */
uint32_t sl_kernels_find(struct sl_kernels *kernels, uint64_t handle);

/* The launch's word `w` of the kernel's words, or NULL if the launch lacks it. */
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

/* The launch's parameter `p`, all of its bytes, or NULL if the launch lacks it. */
static inline const char *sl_kernel_parameter(const struct sl_launch *launch, const struct sl_kernel *kernel,
                                              uint32_t p)
{
    if (launch->parameters) return launch->parameters[p];
    uint64_t end = (uint64_t)kernel->offsets[p] + kernel->sizes[p];
    return launch->packed && end <= launch->packed_bytes ? (const char *)launch->packed + kernel->offsets[p]
                                                         : NULL;
}

/* How many entries of the kernel's address arrays the launch uses; 0: no known arrays. */
static inline uint32_t sl_kernel_entries(const struct sl_launch *launch, const struct sl_kernel *kernel)
{
    const struct sl_address_lists *lists = &kernel->lists;
    return lists->capacity ? sl_address_lists_used(
                                 lists, sl_kernel_parameter(launch, kernel, lists->parameter), launch->grid)
                           : 0;
}

/* Whether word `w` may be an address if `entries` entries are used. */
static inline bool sl_kernel_word_used(const struct sl_kernel *kernel, uint32_t w, uint32_t entries)
{
    return sl_address_lists_has(&kernel->lists, kernel->words[w] >> 16, kernel->words[w] & 0xffff, entries);
}

/* The number of the kernel with this name and layout, which need not be loaded. 0: out of memory. */
uint32_t sl_kernels_know(struct sl_kernels *kernels, const struct sl_kernel_layout *layout);

/* Whether word `w` is part of a structure, which may have unfilled room. */
static inline bool sl_kernel_word_in_structure(const struct sl_kernel *kernel, uint32_t w)
{
    return kernel->sizes[kernel->words[w] >> 16] > sizeof(uint64_t);
}

/* Distinguishes an access from others of its launch: its parameter and the offset in it (struct sl_access).
 * For a structure only the parameter counts, since stale words (stale_words.h) may repeat its addresses. */
static inline uint32_t sl_kernels_role(const struct sl_kernels *kernels, uint64_t parameter, uint32_t where)
{
    const struct sl_kernel *kernel = &kernels->kernels[parameter >> 32];
    if (!(parameter >> 32) || where >> 16 >= kernel->parameter_count) return where;
    return kernel->sizes[where >> 16] > sizeof(uint64_t) ? where | 0xffff : where;
}

void sl_kernels_forget(struct sl_kernels *kernels);

#endif
