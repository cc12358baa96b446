/* The driver's side of ../native.h. */
#ifndef SOFTCUDA_DRIVER_NATIVE_H
#define SOFTCUDA_DRIVER_NATIVE_H

#include "../native.h"

/* The table that cuGetExportTable returns. */
const struct sc_native_table *sc_native_table_get(void);

/* Whether `image` was passed to `trust`. Does not dereference it. Thread-safe. */
bool sc_native_trusted(const void *image);

void sc_native_info(const struct sc_native_kernel *kernel, struct sc_function_info *out);

/* Runs a launch as sc_run does, with the same results, costs and faults. For a kernel that meets peers it
 * sets *token, which the caller must then end, even after a fault. Thread-safe. */
enum sc_engine_status sc_native_run(const struct sc_native_kernel *kernel, const struct sc_launch *wish,
                                    struct sc_cost *cost, struct sc_fault *fault, void **token);

#endif
