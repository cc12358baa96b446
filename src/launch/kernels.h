/* What is known of each kernel: its name, the layout of its parameters, and the evidence for each word of
 * them. The backend is queried once for each handle. Handles are forgotten when modules are unloaded, since
 * the driver reuses them; a kernel that is loaded again keeps its number and its evidence. Caller holds the
 * order lock.
 *
 * The evidence says which words are addresses that the launch uses. A parameter that is no larger than an
 * address holds what the program passes. A structure that is passed by value often has room that the program
 * does not fill, and that keeps the stack's previous content:
 * - An array of strides, for example, has as many entries as a tensor may have dimensions. An unused entry
 *   may look like an address of a live allocation in one launch and like anything else in the next. Such a
 *   word is stale: it does not belong to the launch's identity, and nothing is fetched for it. If it was an
 *   address after all, the launch uses that memory remotely.
 * - PyTorch's kernels over many tensors (foreach functions, fused optimizers, torch.cat) have parameter
 *   blocks with a fixed capacity for addresses. A launch fills the first entries; the others hold mostly the
 *   addresses of the launch before. These are live allocations, the same in every step, so their values do
 *   not reveal that they are unused. The entries in use follow from the array that maps each block of the
 *   grid to a tensor, or from the grid itself. The known layouts are those of PyTorch's
 *   aten/src/ATen/native/cuda/MultiTensorApply.cuh, in all its versions, and of Shape.cu. A structure of
 *   another size has no known layout, and all of its words count.
 */
#ifndef SLUICE_KERNEL_H
#define SLUICE_KERNEL_H

#include <string.h>

#include "base/map.h"
#include "device/backend.h"
#include "launch/launch.h"

/* A word of a kernel's parameters that may be an address: whole and aligned. */
struct sl_word_evidence {
    uint32_t where;      /* parameter << 16 | offset in it */
    uint32_t entry;      /* of an address list: counted from 1; 0: in no list; SL_NONE: in its structure,
                            but no address */
    uint8_t live, other; /* of a structure: how often it was an address of a live allocation, and how often
                            another value but 0 */
};

/* Arrays of addresses in a structure, of which a launch uses only the first entries. */
struct sl_address_lists {
    uint32_t parameter;       /* the structure */
    uint32_t lists, capacity; /* arrays from its first byte on, and entries of each; capacity 0: unknown */
    uint32_t more_at, more_capacity; /* another such array; more_capacity 0: none */
    uint32_t index_at, index_bytes;  /* the array with the entry of each block of the grid */
    uint32_t blocks;                 /* most entries of that array; 0: the grid has a row for each entry */
};

struct sl_kernel {
    uint64_t name_hash;
    const char *name;   /* never freed: the trace and the log point to it */
    uint32_t announced; /* the lap of the trace that has its name, counted from 1 */
    bool meets_peers;   /* may wait for other ranks: an NCCL kernel, by its name */
    uint64_t module;    /* that contains it, or 0 */
    uint32_t parameter_count;
    uint32_t *offsets, *sizes, *firsts; /* of each parameter; its first word is words[firsts[parameter]] */
    struct sl_word_evidence *words;     /* in order */
    uint32_t word_count;
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

/* The number of the kernel with this name and layout, which need not be loaded. 0: out of memory. */
uint32_t sl_kernels_know(struct sl_kernels *kernels, const struct sl_kernel_layout *layout);

/* Forgets all handles. */
void sl_kernels_forget(struct sl_kernels *kernels);

/* The launch's word `w` of the kernel's words, or NULL if the launch lacks it. */
static inline const char *sl_kernel_word(const struct sl_launch *launch, const struct sl_kernel *kernel,
                                         uint32_t w)
{
    uint32_t parameter = kernel->words[w].where >> 16, at = kernel->words[w].where & 0xffff;
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

/* The evidence for the word `where` of the kernel whose number is in `parameter` (struct sl_access). NULL: it
 * is no word of a kernel's parameters. */
static inline struct sl_word_evidence *sl_kernels_evidence(const struct sl_kernels *kernels,
                                                           uint64_t parameter, uint32_t where)
{
    const struct sl_kernel *kernel = &kernels->kernels[parameter >> 32];
    if (!(parameter >> 32) || where >> 16 >= kernel->parameter_count) return NULL;
    uint32_t w = kernel->firsts[where >> 16] + (where & 0xffff) / 8;
    return w < kernel->word_count && kernel->words[w].where == where ? &kernel->words[w] : NULL;
}

/* Whether it is a place in a structure, which may have unfilled room. */
static inline bool sl_kernel_in_structure(const struct sl_kernel *kernel, uint32_t where)
{
    return where >> 16 < kernel->parameter_count && kernel->sizes[where >> 16] > sizeof(uint64_t);
}
static inline bool sl_kernels_in_structure(const struct sl_kernels *kernels, uint64_t parameter,
                                           uint32_t where)
{
    return parameter >> 32 && sl_kernel_in_structure(&kernels->kernels[parameter >> 32], where);
}

/* Distinguishes an access from others of its launch: its parameter and the offset in it (struct sl_access).
 * For a structure only the parameter counts, since its unfilled room may repeat its addresses. */
static inline uint32_t sl_kernels_role(const struct sl_kernels *kernels, uint64_t parameter, uint32_t where)
{
    return sl_kernels_in_structure(kernels, parameter, where) ? where | 0xffff : where;
}

/* Whether the word was both an address of a live allocation and another value. */
static inline bool sl_word_is_stale(const struct sl_word_evidence *word)
{
    return word->live && word->other;
}

/* Notes a value of the word. Precondition: the value is not 0, and the word is in a structure. Returns
 * whether this made the word stale. */
bool sl_word_note(struct sl_word_evidence *word, bool live);

/* The number of entries that a launch uses of each array. `structure`: the kernel's parameter, whole; NULL:
 * all entries count as used. Precondition: the arrays are known. */
uint32_t sl_address_lists_used(const struct sl_address_lists *lists, const char *structure,
                               const uint32_t grid[3]);

/* How many entries of the kernel's address lists the launch uses; 0: it has none that are known. */
static inline uint32_t sl_kernel_entries(const struct sl_launch *launch, const struct sl_kernel *kernel)
{
    const struct sl_address_lists *lists = &kernel->lists;
    return lists->capacity ? sl_address_lists_used(
                                 lists, sl_kernel_parameter(launch, kernel, lists->parameter), launch->grid)
                           : 0;
}

/* Whether the word may be an address in a launch that uses `entries` entries of the kernel's lists. */
static inline bool sl_word_is_used(const struct sl_word_evidence *word, uint32_t entries)
{
    return word->entry <= entries;
}

#endif
