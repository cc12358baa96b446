/* Objects that a program registers before main: its fat binaries, and their kernels and variables by host
 * address.
 *
 * A fat binary is loaded at the first use of anything in it (cuLibraryLoadData). Thread-safe.
 */
#ifndef SOFTCUDA_CUDART_MODULE_H
#define SOFTCUDA_CUDART_MODULE_H

#include "driver.h"

/* The driver's kernel for `function`: the host address of a __global__ function, or a handle that the program
 * obtained here from cudaGetKernel, cudaLibraryGetKernel or nvcc's launch code. Loads its fat binary if
 * necessary. Errors: cudaErrorInvalidDeviceFunction if the function is not registered or its fat binary lacks
 * it; or the reason why loading failed. pre: a context is current. */
cudaError_t sc_kernel_find(const struct sc_driver *driver, const void *function, CUkernel *out);

/* The host address of the function for this kernel, or the handle itself if none is registered. */
const void *sc_kernel_symbol(CUkernel kernel);

/* The address on the current device, and the size in bytes, of the variable with host address `symbol`.
 * Errors: cudaErrorInvalidSymbol, and as above. pre: a context is current. */
cudaError_t sc_symbol_find(const struct sc_driver *driver, const void *symbol, CUdeviceptr *address,
                           size_t *bytes);

/* Initialises managed variables again at their next use: their memory was freed with the context. */
void sc_modules_forget_managed(void);

#endif
