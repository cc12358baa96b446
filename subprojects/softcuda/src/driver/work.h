/* Validation of launches, copies and memsets, for streams and for graph nodes. pre: the driver's lock is held
 * and a context is current, everywhere. */
#ifndef SOFTCUDA_WORK_H
#define SOFTCUDA_WORK_H

#include "extent.h"
#include "module.h"
#include "queue.h"

struct sc_shape {
    uint32_t grid[3], block[3], dynamic_shared;
    bool cooperative;
};

/* Validates a launch in `context` and packs its parameters, from an array of pointers or from one buffer. On
 * success `out` owns its parameters and a reference to the module. Errors: CUDA_ERROR_INVALID_HANDLE,
 * CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sc_launch_describe(struct sc_context *context, CUfunction handle, const struct sc_shape *shape,
                            void **pointers, void **extra, struct sc_launch_work *out);
/* Makes a launch cooperative, or not. Errors: as above. */
CUresult sc_launch_cooperate(bool cooperative, struct sc_launch_work *launch);
/* How many blocks of `threads` threads a multiprocessor holds at once. */
int sc_blocks_that_fit(const struct sc_func *func, int threads, size_t dynamic_shared);
/* Copies a launch. false: no memory. */
bool sc_launch_copy(const struct sc_launch_work *from, struct sc_launch_work *out);
/* Frees what a launch owns; accepts one that was dropped already. */
void sc_launch_drop(struct sc_launch_work *launch);

/* Validates a copy. Errors: CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED for arrays. */
CUresult sc_copy_describe(const CUDA_MEMCPY3D *parameters, struct sc_copy_work *out);
/* Converts a copy's work back into parameters, with the memory types that the driver found. */
void sc_copy_parameters(const struct sc_copy_work *copy, CUDA_MEMCPY3D *out);
/* One side of a copy. */
struct sc_box sc_copy_box(const struct sc_copy_work *copy, bool destination);
/* Determines the kind of memory of both sides. CUDA_ERROR_INVALID_VALUE: not memory that a copy may access,
 * or its rows or slices overlap. */
CUresult sc_copy_find_sides(struct sc_copy_work *copy, bool to_device, bool from_device);

/* Validates a memset and determines the kind of memory. Errors: CUDA_ERROR_INVALID_VALUE. */
CUresult sc_set_describe(struct sc_set_work *set);

#endif
