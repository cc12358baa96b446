/* The backend on the Driver API's unified memory. */
#ifndef SLUICE_BACKEND_CUDA_H
#define SLUICE_BACKEND_CUDA_H

#include "backend.h"
#include "cuda_driver.h"

/* Makes a backend for the current context; without `moves` it gives no memory and moves none. `driver` must
 * stay valid. SL_ERR_UNSUPPORTED, with a line in the log, when the driver is too old or the device has no
 * concurrent managed access, which is needed to move. Not thread-safe. */
enum sl_status sl_backend_cuda_new(const struct sl_cuda_driver *driver, bool moves, struct sl_backend *out);

#endif
