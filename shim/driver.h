/* The vendor's driver: where it is in this process, its real functions, and which of them have an entry of
 * ours. */
#ifndef SLUICE_SHIM_DRIVER_H
#define SLUICE_SHIM_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda_driver.h"
#include "driver_api.h"

/* Where the driver's code lies; empty until it is loaded. Written once, `low` first, before sl_real. */
struct sl_address_range {
    uintptr_t low, high;
};
extern struct sl_address_range sl_driver_range;

/* Whether `address` is the driver's own code: its calls into its own public functions are none of ours. */
static inline bool sl_from_driver(const void *address)
{
    return (uintptr_t)address < __atomic_load_n(&sl_driver_range.high, __ATOMIC_ACQUIRE) &&
           (uintptr_t)address >= __atomic_load_n(&sl_driver_range.low, __ATOMIC_RELAXED);
}

/* Finds the driver if this process has loaded it, and fills sl_real. `hint`, when not NULL, is an address
 * that a look-up of a driver function returned, and finds a driver loaded under another name. Initialises
 * nothing in CUDA. Cheap once it has succeeded; false while there is no driver. Thread-safe; false when
 * called by itself in the same thread. */
bool sl_driver_load(const void *hint);

/* Loads the driver on behalf of a program that calls a driver function without having loaded it. */
bool sl_driver_load_now(void);

/* Our entry for a real function, or NULL when it is not intercepted. pre: sl_driver_load() was true. */
void *sl_driver_entry_for(const void *function);

/* Our entry for an ABI name, or NULL where there is none or the driver lacks the function. */
void *sl_driver_entry_named(const char *symbol);
/* Whether driver_api.def has a row for the ABI name; needs no driver. */
bool sl_driver_intercepts(const char *symbol);

/* The functions that the backend calls, or NULL, with one log line, when the driver is too old. pre: as
 * above. */
const struct sl_cuda_driver *sl_driver_functions(void);

/* The child's part of fork. */
void sl_driver_after_fork(void);

#endif
