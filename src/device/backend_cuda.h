/* The backend on the Driver API's unified memory. */
#ifndef SLUICE_BACKEND_CUDA_H
#define SLUICE_BACKEND_CUDA_H

#include "device/backend.h"
#include "device/cuda_driver.h"

/* Makes a backend for the current context. `use`: who manages memory, which determines how slabs are set up.
 * `driver` must stay valid. `sysfs`: the folder in which the kernel shows devices (/sys). SL_ERR_UNSUPPORTED,
 * with a line in the log: the driver is too old or the device has no concurrent managed access, which slabs
 * need. Not thread-safe. */
enum sl_status sl_backend_cuda_new(const struct sl_cuda_driver *driver, enum sl_memory_use use,
                                   const char *sysfs, struct sl_backend *out);

#endif
