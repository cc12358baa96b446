/* The backend on the Driver API's unified memory. */
#ifndef SLUICE_BACKEND_CUDA_H
#define SLUICE_BACKEND_CUDA_H

#include "device/backend.h"
#include "device/cuda_driver.h"

/* Makes a backend for the current context. `use`: who manages memory, which determines how slabs are set up.
 * `driver` must stay valid. `sysfs`: the folder in which the kernel shows devices (/sys). SL_ERR_UNSUPPORTED,
 * with a line in the log: the driver is too old or the device has no concurrent managed access, which slabs
 * need. Not thread-safe. */
enum sl_status sl_backend_cuda_new(const struct sl_cuda_driver *driver, enum sl_memory_use use,
                                   const char *sysfs, struct sl_backend *out);

/* --- cuda_kernel.c: kernels of the driver, by their handles. */

/* Name, parameters and module of the kernel with this handle. SL_ERR_UNSUPPORTED, with one line in the log
 * for all kernels: the driver does not say, or the handle's kind is unknown; then the driver is not queried,
 * as no query is safe. */
enum sl_status sl_cuda_kernel_layout(const struct sl_cuda_driver *driver, uint64_t function,
                                     struct sl_kernel_layout *out);

/* A launch names a CUkernel or a CUfunction in the same argument, and a driver may crash if one is used as
 * the other. So the kind is noted where the program gets a handle. Thread-safe; the lock is held for look-ups
 * only. */
enum sl_handle_kind {
    SL_HANDLE_UNKNOWN,
    SL_HANDLE_KERNEL,   /* a CUkernel, of a library */
    SL_HANDLE_FUNCTION, /* a CUfunction, of a module */
};

/* Notes that the driver gave out `handle`, which lives as long as `owner`, a library or module; 0: unknown.
 * Replaces the handle's previous entry, because drivers reuse addresses. */
void sl_handle_note(uint64_t handle, enum sl_handle_kind kind, uint64_t owner);
/* The same for a handle that the driver names without having given it out, unless the handle is known. */
void sl_handle_note_unless_known(uint64_t handle, enum sl_handle_kind kind);

enum sl_handle_kind sl_handle_kind(uint64_t handle);
/* The handle's owner, or 0. */
uint64_t sl_handle_owner(uint64_t handle);

/* Must be called before `owner` is unloaded. Forgets its handles and those with an unknown owner. */
void sl_handles_forget(uint64_t owner);

/* In the child after fork: forgets the parent's handles. */
void sl_handles_after_fork(void);

#endif
