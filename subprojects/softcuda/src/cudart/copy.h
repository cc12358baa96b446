/* Conversion of Runtime API copies to driver copies. */
#ifndef SOFTCUDA_CUDART_COPY_H
#define SOFTCUDA_CUDART_COPY_H

#include "driver.h"

/* Errors: cudaErrorInvalidMemcpyDirection, cudaErrorInvalidValue, cudaErrorNotSupported for arrays. */
cudaError_t sc_describe_3d(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *out);

/* Execute the copy. pre: a context is current. */
cudaError_t sc_copy_3d(const struct sc_driver *driver, const struct cudaMemcpy3DParms *parameters);
cudaError_t sc_copy_3d_async(const struct sc_driver *driver, const struct cudaMemcpy3DParms *parameters,
                             cudaStream_t stream);

/* The reverse: converts the driver's description of a copy. */
void sc_describe_runtime_3d(const CUDA_MEMCPY3D *parameters, struct cudaMemcpy3DParms *out);

/* The address on the current device of `bytes` bytes at `offset` of the variable with host address `symbol`.
 * Errors: cudaErrorInvalidSymbol; cudaErrorInvalidValue if the variable is smaller. pre: a context is
 * current. */
cudaError_t sc_symbol_part(const struct sc_driver *driver, const void *symbol, size_t bytes, size_t offset,
                           void **out);

#endif
