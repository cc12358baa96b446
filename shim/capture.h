/* Stream capture, as allocations have to know it. */
#ifndef SLUICE_SHIM_CAPTURE_H
#define SLUICE_SHIM_CAPTURE_H

#include <stdbool.h>

#include <cuda.h>

/* Whether a stream captures, or is about to, anywhere in the process. Any thread. */
bool sl_captures_any(void);

/* The driver's error for allocating or freeing in the calling thread now, or CUDA_SUCCESS. Any thread. */
CUresult sl_capture_forbids(void);

#endif
