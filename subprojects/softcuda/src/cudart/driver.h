/* Access to the driver: dlopen of libcuda.so.1, dlsym of cuGetProcAddress_v2, and all other functions through
 * that, by name and version, as the vendor's runtime does. So a library that interposes the driver sees every
 * call.
 */
#ifndef SOFTCUDA_CUDART_DRIVER_H
#define SOFTCUDA_CUDART_DRIVER_H

#include "names12.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>

/* The driver's functions. An entry is NULL if the driver does not have the function. */
struct sc_driver {
#define DRIVER(name, version) PFN_##name##_v##version name;
#define DRIVER_STREAM(name, version, ptsz) PFN_##name##_v##version name;
#define DRIVER_OLDER(name, version) PFN_##name##_v##version name##_v##version;
#define DRIVER_STREAM_OLDER(name, version, ptsz) PFN_##name##_v##version name##_v##version;
#include "driver.def"
#undef DRIVER
#undef DRIVER_STREAM
#undef DRIVER_OLDER
#undef DRIVER_STREAM_OLDER
};

/* The meaning of a NULL stream: in programs built as usual, or with --default-stream per-thread. */
enum sc_default_stream { SC_LEGACY_STREAM, SC_PER_THREAD_STREAM };

/* Loads and initialises the driver at the first call, from any thread. On success sets *out to the table for
 * the default stream of `kind`. Otherwise returns why there is no driver, the same at every call:
 * cudaErrorInsufficientDriver, also for a driver of an older major version than this runtime,
 * cudaErrorNoDevice, or the error of cuInit. */
cudaError_t sc_driver_get(enum sc_default_stream kind, const struct sc_driver **out);

/* cuGetProcAddress itself, for functions that return it to the program; NULL without a driver. Does not
 * initialise the driver. */
PFN_cuGetProcAddress_v12000 sc_driver_resolver(void);

/* The version that the installed driver reports, without initialising it; 0 without a driver. */
int sc_driver_version(void);

/* True once the process has begun to exit: the driver may be gone. */
bool sc_driver_exiting(void);

/* Logs, once for each name, that a function is missing; returns the runtime's form of
 * CUDA_ERROR_NOT_FOUND. */
cudaError_t sc_driver_missing(const char *name);

/* Calls function `name` of the local variable `driver`; the value is a cudaError_t. */
#define CALL(name, ...)                                                                                      \
    (driver->name ? sc_error_from_driver(driver->name(__VA_ARGS__)) : sc_driver_missing(#name))

/* The same, where a driver without the function may have it in the older form of `version`. `suffices`:
 * whether that can do what is asked. The arguments of both are in parentheses. */
#define CALL_OR_OLDER(name, arguments, version, suffices, older_arguments)                                   \
    (driver->name ? sc_error_from_driver(driver->name arguments)                                             \
     : (suffices) && driver->name##_v##version                                                               \
         ? sc_error_from_driver(driver->name##_v##version older_arguments)                                   \
         : sc_driver_missing(#name))

/* Converts the driver's error code to the runtime's. */
cudaError_t sc_error_from_driver(CUresult result);

#endif
