/* What a launch, a copy and a memset mean, whether a stream does it or a node of a graph. pre: the driver's
 * lock is held and a context is current, everywhere. */
#ifndef SOFTCUDA_WORK_H
#define SOFTCUDA_WORK_H

#include "module.h"
#include "queue.h"

struct sc_shape {
    uint32_t grid[3], block[3], dynamic_shared;
    bool cooperative;
};

/* Checks a launch in `context` and packs its parameters, from an array of pointers or from one buffer. On
 * success `out` owns its parameters and a reference to the module. Errors: CUDA_ERROR_INVALID_HANDLE,
 * CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sc_launch_describe(struct sc_context *context, CUfunction handle, const struct sc_shape *shape,
                            void **pointers, void **extra, struct sc_launch_work *out);
/* Makes a launch cooperative, or not. Errors: as above. */
CUresult sc_launch_cooperate(struct sc_context *context, bool cooperative, struct sc_launch_work *launch);
/* How many blocks of `threads` threads a processor holds at once. */
int sc_blocks_that_fit(const struct sc_func *func, int threads, size_t dynamic_shared);
/* A second launch like `from`. false: no memory. */
bool sc_launch_copy(const struct sc_launch_work *from, struct sc_launch_work *out);
/* Frees what a launch owns; accepts one that was dropped. */
void sc_launch_drop(struct sc_launch_work *launch);

/* Checks a copy. Errors: CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED for arrays. */
CUresult sc_copy_describe(const CUDA_MEMCPY3D *parameters, struct sc_copy_work *out);
/* The same from a copy's work: host and device as the driver knows them. */
void sc_copy_parameters(const struct sc_copy_work *copy, CUDA_MEMCPY3D *out);
/* Finds where the two sides lie now. CUDA_ERROR_INVALID_VALUE: not where a copy may go. */
CUresult sc_copy_find_sides(struct sc_copy_work *copy, bool to_device, bool from_device);

/* Checks a memset and finds where it goes. Errors: CUDA_ERROR_INVALID_VALUE. */
CUresult sc_set_describe(struct sc_set_work *set);

#endif
