/* What a program registers before main: its fat binaries, their kernels and variables, by host address.
 *
 * A fat binary is loaded at the first use of anything in it (cuLibraryLoadData). Thread-safe.
 */
#ifndef SOFTCUDA_CUDART_MODULE_H
#define SOFTCUDA_CUDART_MODULE_H

#include "driver.h"

/* The driver's kernel for `function`: the host address of a __global__ function, or a handle that
 * cudaGetKernel, cudaLibraryGetKernel or the launch code of nvcc got from this library. Loads its fat binary
 * if need be. Errors: cudaErrorInvalidDeviceFunction if nobody registered it or its fat binary lacks it; why
 * loading failed. pre: a context is current. */
cudaError_t sc_kernel_find(const struct sc_driver *driver, const void *function, CUkernel *out);

/* The host address of the function that is this kernel, or the handle itself where none is registered. */
const void *sc_kernel_symbol(CUkernel kernel);

/* Where the variable with host address `symbol` lies on the current device, and its size in bytes.
 * Errors: cudaErrorInvalidSymbol, and as above. pre: a context is current. */
cudaError_t sc_symbol_find(const struct sc_driver *driver, const void *symbol, CUdeviceptr *address,
                           size_t *bytes);

/* Managed variables are set up again at their next use: their memory went with the context. */
void sc_modules_forget_managed(void);

#endif
