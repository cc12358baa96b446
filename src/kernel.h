/* What is known of each kernel: its name and where its parameters lie. Asked of the backend once for each
 * handle, and forgotten when modules are unloaded, since handles are used again. Caller holds the order lock.
 */
#ifndef SLUICE_KERNEL_H
#define SLUICE_KERNEL_H

#include "backend.h"
#include "map.h"

struct sl_kernel {
    uint64_t name_hash;
    const char *name; /* lives as long as the process: the trace and the log point to it */
    bool announced;   /* the trace knows the name */
    uint32_t parameter_count;
    uint32_t *offsets, *sizes;
};

struct sl_kernels {
    const struct sl_backend *backend;
    struct sl_kernel *kernels; /* number 0 is no kernel */
    uint32_t count, capacity;
    struct sl_map by_handle;
};

void sl_kernels_init(struct sl_kernels *kernels, const struct sl_backend *backend);
void sl_kernels_close(struct sl_kernels *kernels); /* accepts a zeroed one; names are kept */

/* The kernel's number, from 1; 0 when nothing can be known. pre: the launching stream captures nothing, or
 * the handle was asked for before. */
uint32_t sl_kernels_find(struct sl_kernels *kernels, uint64_t handle);
void sl_kernels_forget(struct sl_kernels *kernels);

#endif
