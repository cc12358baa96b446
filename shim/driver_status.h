/* The driver's status for calls that sluice answers itself: what the driver would return before it looks at
 * the call's own arguments. Asks the driver. Thread-safe. */
#ifndef SLUICE_SHIM_DRIVER_STATUS_H
#define SLUICE_SHIM_DRIVER_STATUS_H

#include <stdint.h>

#include <cuda.h>

/* The lasting error of the thread's core's context, such as that of a kernel's fault, or CUDA_SUCCESS. Asks
 * only if the context had work since the program last waited for all of it: what brings such an error about
 * is work, and the wait would have returned it. */
CUresult sl_driver_fault(void);

/* The lasting error of the managed context that owns `address`, or the error if no context is current, or
 * none that works. An address that is not sluice's stands for the context of the thread's core. */
CUresult sl_driver_refusal(uint64_t address);

/* The same, or `otherwise` if the driver would look at the arguments. */
CUresult sl_driver_refusal_or(uint64_t address, CUresult otherwise);

#endif
