/* cuda.h with every symbol of the library declared under its own name: `cuMemAlloc` is the first version
 * instead of a macro for the newest, and the `_v2` and `_ptsz` forms are declared as well. */
#ifndef SOFTCUDA_API_H
#define SOFTCUDA_API_H

#include "gate.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#endif
