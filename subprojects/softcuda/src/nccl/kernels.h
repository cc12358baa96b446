/* libnccl's kernels. They differ in name only, for profilers and the like. */
#ifndef SOFTCUDA_NCCL_KERNELS_H
#define SOFTCUDA_NCCL_KERNELS_H

#include "native.h"
#include "work.h"

#define SC_KERNELS_MOST 64

const struct sc_native_image *sc_kernels_image(void);

/* The index of the kernel for a launch: the works' own kind if all are alike, as in NCCL, else the generic
 * kernel. */
unsigned sc_kernels_for(const struct sc_work *works, uint32_t count);

#endif
