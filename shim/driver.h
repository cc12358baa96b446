/* The vendor's driver: its location in this process, its real functions, and the entries that replace them.
 */
#ifndef SLUICE_SHIM_DRIVER_H
#define SLUICE_SHIM_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda_driver.h"
#include "driver_api.h"

/* The addresses of the driver's code; empty until it is loaded. Written once, `low` first, before sl_real. */
struct sl_address_range {
    uintptr_t low, high;
};
extern struct sl_address_range sl_driver_range;

/* Whether `address` is in the driver's own code: its calls to its own public functions are not intercepted.
 */
static inline bool sl_from_driver(const void *address)
{
    return (uintptr_t)address < __atomic_load_n(&sl_driver_range.high, __ATOMIC_ACQUIRE) &&
           (uintptr_t)address >= __atomic_load_n(&sl_driver_range.low, __ATOMIC_RELAXED);
}

/* Finds the driver if this process has loaded it, and fills sl_real. `hint`, if not NULL, is an address that
 * a look-up of a driver function returned; it finds a driver that was loaded under another name. Initializes
 * nothing in CUDA. Cheap after the first success. False: there is no driver, or the calling thread is already
 * in this function. Thread-safe. */
bool sl_driver_load(const void *hint);

/* Loads the driver for a program that calls a driver function without having loaded the driver. */
bool sl_driver_load_now(void);

/* Our entry for a real function, or NULL if it is not intercepted. Precondition: sl_driver_load() returned
 * true. */
void *sl_driver_entry_for(const void *function);

/* Our entry for an ABI name, or NULL if there is none or the driver lacks the function. */
void *sl_driver_entry_named(const char *symbol);
/* Whether driver_api.def has a row for the ABI name; needs no driver. */
bool sl_driver_intercepts(const char *symbol);

/* The functions that the backend calls; NULL, with one log line, if the driver is too old. Same precondition.
 */
const struct sl_cuda_driver *sl_driver_functions(void);

/* For the child after fork. */
void sl_driver_after_fork(void);

#endif
