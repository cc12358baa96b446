/* The driver's description of a kernel, a CUkernel or a CUfunction. */
#ifndef SLUICE_CUDA_KERNEL_H
#define SLUICE_CUDA_KERNEL_H

#include "device/backend.h"
#include "device/cuda_driver.h"

/* Name, parameters and module of the kernel with this handle. SL_ERR_UNSUPPORTED, with one line in the log
 * for all kernels: the driver does not say, or the handle's kind is unknown; then the driver is not queried,
 * as no query is safe. */
enum sl_status sl_cuda_kernel_layout(const struct sl_cuda_driver *driver, uint64_t function,
                                     struct sl_kernel_layout *out);

#endif
