/* Included before a program of the tests, makes cuda.h that of CUDA 12.2 as far as they use it: the program
 * runs on a driver of that version. */
#ifndef CUDA_12_2_H
#define CUDA_12_2_H

#include <cuda.h>

#undef CUDA_VERSION
#define CUDA_VERSION 12020
#undef cuEventElapsedTime
#undef cuGraphAddDependencies
CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                        size_t count);

#endif
