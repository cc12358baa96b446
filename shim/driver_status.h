/* The driver's status for calls that sluice answers itself: what the driver would return before it looks at
 * the call's own arguments. Asks the driver. Thread-safe. */
#ifndef SLUICE_SHIM_DRIVER_STATUS_H
#define SLUICE_SHIM_DRIVER_STATUS_H

#include <stdint.h>

#include <cuda.h>

/* The lasting error of the managed context that owns `address`, such as that of a kernel's fault, or
 * CUDA_SUCCESS. An address that is not sluice's stands for the context of the thread's core. */
CUresult sl_driver_fault(uint64_t address);

/* The same for a call that needs a current context: also the error if there is none, or none that works. */
CUresult sl_driver_refusal(uint64_t address);

/* The same, or `otherwise` if the driver would look at the arguments. */
CUresult sl_driver_refusal_or(uint64_t address, CUresult otherwise);

#endif
