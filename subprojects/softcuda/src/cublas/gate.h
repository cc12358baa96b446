/* Access to the device for libcublas and libcublasLt: dlopen of libcuda.so.1, dlsym of cuGetProcAddress_v2,
 * and all other functions through that, so that a library that interposes the driver sees every launch.
 *
 * The library that contains the kernels exports these functions. Thread-safe. */
#ifndef SOFTCUDA_CUBLAS_GATE_H
#define SOFTCUDA_CUBLAS_GATE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#include "api.h"

#define SC_GATE __attribute__((visibility("default")))

enum sc_blas_kernel { SC_KERNEL_GEMM, SC_KERNEL_VECTOR, SC_KERNEL_GEMV, SC_KERNEL_GEAM, SC_KERNELS };

/* The first member of every handle, so that a cuBLAS handle can be used as a cuBLASLt handle. */
#define SC_HANDLE_MAGIC UINT64_C(0x73637562626c6173)

/* Loads the driver and the kernels at the first call. If the calling thread has no context, makes the first
 * device's primary context current, as the Runtime API does. CUBLAS_STATUS_NOT_INITIALIZED: no driver or no
 * device. CUBLAS_STATUS_ARCH_MISMATCH: the driver is not softcuda's. */
SC_GATE cublasStatus_t sc_gate_open(void);

/* Launches on a stream of the current context. `parameters` is the kernel's parameter block. */
SC_GATE cublasStatus_t sc_gate_launch(enum sc_blas_kernel kernel, CUstream stream, const void *parameters);

/* Host memory that kernels can write to. */
SC_GATE cublasStatus_t sc_gate_allocate(void **memory, size_t bytes);
SC_GATE void sc_gate_free(void *memory);
SC_GATE cublasStatus_t sc_gate_synchronize(CUstream stream);
/* Copies between host and device, in either direction; with `asynchronous`, in stream order. */
SC_GATE cublasStatus_t sc_gate_copy(const CUDA_MEMCPY2D *copy, bool asynchronous, CUstream stream);

/* The name and description of a status; never NULL. */
SC_GATE const char *sc_gate_status_name(cublasStatus_t status);
SC_GATE const char *sc_gate_status_text(cublasStatus_t status);

/* Writes to softcuda's log. */
SC_GATE void sc_gate_log(const char *text);

#endif
