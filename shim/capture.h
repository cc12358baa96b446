/* Stream capture, as allocations have to know it. */
#ifndef SLUICE_SHIM_CAPTURE_H
#define SLUICE_SHIM_CAPTURE_H

#include <cuda.h>

/* The driver's error for allocating or freeing in the calling thread now, or CUDA_SUCCESS. Any thread. */
CUresult sl_capture_forbids(void);

#endif
