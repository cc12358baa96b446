/* Stream capture, as far as it matters to allocations. */
#ifndef SLUICE_SHIM_CAPTURE_H
#define SLUICE_SHIM_CAPTURE_H

#include <stdbool.h>

#include <cuda.h>

/* Whether any stream of the process captures or is about to. Any thread. */
bool sl_captures_any(void);

/* The driver's error for an allocation or free in the calling thread at this moment, or CUDA_SUCCESS. Any
 * thread. */
CUresult sl_capture_forbids(void);

#endif
