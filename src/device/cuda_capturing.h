/* Whether a stream captures, asked of the vendor's driver. */
#ifndef SLUICE_CUDA_CAPTURING_H
#define SLUICE_CUDA_CAPTURING_H

#include "device/backend.h"
#include "device/cuda_driver.h"

/* Yes also where the stream cannot be used beside another stream's capture. Unknown: two functions of the
 * driver refused several times, or the handle is not valid; *refused, which may be NULL, is then the driver's
 * status. Any thread. */
struct sl_answer sl_cuda_capturing(const struct sl_cuda_driver *driver, CUstream stream, CUresult *refused);

#endif
