/* The way to the device, for libcublas and libcublasLt: the driver by dlopen of libcuda.so.1, dlsym of
 * cuGetProcAddress_v2 and everything else through that, so that whoever interposes the driver sees every
 * launch.
 *
 * These functions are exported by the library that holds the kernels. Thread-safe. */
#ifndef SOFTCUDA_CUBLAS_GATE_H
#define SOFTCUDA_CUBLAS_GATE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#include "api.h"

#define SC_GATE __attribute__((visibility("default")))

enum sc_blas_kernel { SC_KERNEL_GEMM, SC_KERNEL_VECTOR, SC_KERNEL_GEMV, SC_KERNEL_GEAM, SC_KERNELS };

/* What every handle begins with: one of cuBLAS may stand for one of cuBLASLt. */
#define SC_HANDLE_MAGIC UINT64_C(0x73637562626c6173)

/* Loads the driver and the kernels at the first call, and sees to it that the calling thread has a context:
 * the first device's primary one where it has none, as the Runtime API does. CUBLAS_STATUS_NOT_INITIALIZED:
 * no driver or no device. CUBLAS_STATUS_ARCH_MISMATCH: the driver is not softcuda's. */
SC_GATE cublasStatus_t sc_gate_open(void);

/* Launches on a stream of the current context. `parameters` is the kernel's block. */
SC_GATE cublasStatus_t sc_gate_launch(enum sc_blas_kernel kernel, CUstream stream, const void *parameters);

/* Memory of the host that kernels can write to. */
SC_GATE cublasStatus_t sc_gate_allocate(void **memory, size_t bytes);
SC_GATE void sc_gate_free(void *memory);
SC_GATE cublasStatus_t sc_gate_synchronize(CUstream stream);
/* Copies between host and device, whichever is which; `asynchronous` ones in stream order. */
SC_GATE cublasStatus_t sc_gate_copy(const CUDA_MEMCPY2D *copy, bool asynchronous, CUstream stream);

/* The words for a status; always some. */
SC_GATE const char *sc_gate_status_name(cublasStatus_t status);
SC_GATE const char *sc_gate_status_text(cublasStatus_t status);

/* Where messages go: the log of softcuda. */
SC_GATE void sc_gate_log(const char *text);

#endif
