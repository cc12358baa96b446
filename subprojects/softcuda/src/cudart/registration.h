/* What the code that nvcc generates calls before main, at exit and at each launch. The vendor's headers
 * declare these for C++ only (crt/host_runtime.h, crt/device_functions.h). */
#ifndef SOFTCUDA_CUDART_REGISTRATION_H
#define SOFTCUDA_CUDART_REGISTRATION_H

#include "state.h"

SC_EXPORT void **__cudaRegisterFatBinary(void *image);
SC_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
SC_EXPORT void __cudaUnregisterFatBinary(void **handle);
SC_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                      int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
                                      dim3 *grid_size, int *warp_size);
SC_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                                 size_t bytes, int constant, int global);
SC_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                        int external, size_t bytes, int constant, int global);
SC_EXPORT char __cudaInitModule(void **handle); /* false if the managed variables cannot be set up */
SC_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *function);

/* Returns 0 on success, as the generated code tests it. */
SC_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                               cudaStream_t stream);
SC_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);

#endif
