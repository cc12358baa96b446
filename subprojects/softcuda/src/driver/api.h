/* cuda.h with every symbol of the library declared under its own name: `cuMemAlloc` is the first version, not
 * a macro for the newest, and the `_v2` and `_ptsz` forms are declared as well. All of them are exported. */
#ifndef SOFTCUDA_API_H
#define SOFTCUDA_API_H

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
#pragma GCC visibility pop

#endif
