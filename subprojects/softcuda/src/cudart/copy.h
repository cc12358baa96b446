/* How a copy of the Runtime API is described to the driver. */
#ifndef SOFTCUDA_CUDART_COPY_H
#define SOFTCUDA_CUDART_COPY_H

#include "driver.h"

/* Errors: cudaErrorInvalidMemcpyDirection, cudaErrorInvalidValue, cudaErrorNotSupported for arrays. */
cudaError_t sc_describe_3d(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *out);

#endif
