/* The way to the driver: dlopen of libcuda.so.1, dlsym of cuGetProcAddress_v2, and everything else through
 * that, by name and version, as the vendor's runtime does. Whoever interposes the driver therefore sees every
 * call.
 */
#ifndef SOFTCUDA_CUDART_DRIVER_H
#define SOFTCUDA_CUDART_DRIVER_H

#include "names12.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>

/* A driver's functions. An entry is NULL if the driver does not have it. */
struct sc_driver {
#define DRIVER(name, version) PFN_##name##_v##version name;
#define DRIVER_STREAM(name, version, ptsz) PFN_##name##_v##version name;
#include "driver.def"
#undef DRIVER
#undef DRIVER_STREAM
};

/* How a NULL stream is meant: by programs built as usual, or with --default-stream per-thread. */
enum sc_default_stream { SC_LEGACY_STREAM, SC_PER_THREAD_STREAM };

/* Loads and initialises the driver at the first call, from any thread. Returns cudaSuccess and sets *out to
 * the table for the default stream of `kind`, or returns why there is no driver, the same at every call:
 * cudaErrorInsufficientDriver, cudaErrorNoDevice, or what cuInit said. */
cudaError_t sc_driver_get(enum sc_default_stream kind, const struct sc_driver **out);

/* cuGetProcAddress itself, for those who hand it on; NULL without a driver. Does not initialise it. */
PFN_cuGetProcAddress_v12000 sc_driver_resolver(void);

/* The version that the installed driver states, without initialising it; 0 without a driver. */
int sc_driver_version(void);

/* True once the process has begun to exit: the driver may be gone. */
bool sc_driver_exiting(void);

/* Says once for each name that a function is missing; returns CUDA_ERROR_NOT_FOUND's runtime form. */
cudaError_t sc_driver_missing(const char *name);

/* Calls `name` of the local variable `driver`; its value is a cudaError_t. */
#define CALL(name, ...)                                                                                      \
    (driver->name ? sc_error_from_driver(driver->name(__VA_ARGS__)) : sc_driver_missing(#name))

/* The runtime's code for a driver's. */
cudaError_t sc_error_from_driver(CUresult result);

#endif
