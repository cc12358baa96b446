/* The driver's side of ../native.h. */
#ifndef SOFTCUDA_DRIVER_NATIVE_H
#define SOFTCUDA_DRIVER_NATIVE_H

#include "../native.h"

/* What cuGetExportTable hands out. */
const struct sc_native_table *sc_native_table_get(void);

/* Was this address announced as an image? Does not look at what it points to. Thread-safe. */
bool sc_native_trusted(const void *image);

void sc_native_info(const struct sc_native_kernel *kernel, struct sc_function_info *out);

/* Runs a launch as sc_run does, with the same results, costs and faults. Sets *token of a kernel that meets
 * peers, which is the caller's to end then, even after a fault. Thread-safe. */
enum sc_engine_status sc_native_run(const struct sc_native_kernel *kernel, const struct sc_launch *wish,
                                    struct sc_cost *cost, struct sc_fault *fault, void **token);

#endif
