/* Device memory of an array: the bytes of its elements, without the driver's padding. */
#ifndef SLUICE_SHIM_ARRAY_BYTES_H
#define SLUICE_SHIM_ARRAY_BYTES_H

#include <stdint.h>

#include <cuda.h>

/* `levels` 0 or 1: a plain array. 0 for an array that gets its memory by mapping, where it is counted;
 * unknown formats count four bytes a channel. */
uint64_t sl_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels);

#endif
