/* libnccl's kernels: they differ in name only, which profilers and the like see. */
#ifndef SOFTCUDA_NCCL_KERNELS_H
#define SOFTCUDA_NCCL_KERNELS_H

#include "native.h"
#include "work.h"

#define SC_KERNELS_MOST 64

const struct sc_native_image *sc_kernels_image(void);

/* The number of the kernel for a launch: of the works' own kind if they are all alike, as NCCL names them, or
 * the general one. */
unsigned sc_kernels_for(const struct sc_work *works, uint32_t count);

#endif
