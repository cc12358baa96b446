#include "driver_status.h"

#include <stdbool.h>

#include "driver.h"
#include "session.h"

/* Whether the context, or the driver, gives this answer to every call from now on. Any other error concerns
 * the query alone. */
static bool lasts(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
        return true;
    default:
        return false;
    }
}

/* The driver answers whether a stream captures without asking the device, and no capture forbids the
 * question; but like every call it returns the lasting error of its context. */
static CUresult fault_of(uint64_t address)
{
    CUstream own = sl_session_own_stream(address);
    CUstreamCaptureStatus status;
    CUresult result = own ? sl_driver_functions()->stream_is_capturing(own, &status) : CUDA_SUCCESS;
    return lasts(result) ? result : CUDA_SUCCESS;
}

CUresult sl_driver_fault(void)
{
    return sl_runtime_is_quiet() ? CUDA_SUCCESS : fault_of(0);
}

CUresult sl_driver_refusal(uint64_t address)
{
    CUdevice device;
    CUresult result =
        sl_session_trusts_thread() ? CUDA_SUCCESS : sl_driver_functions()->ctx_get_device(&device);
    return result == CUDA_SUCCESS ? fault_of(address) : result;
}

CUresult sl_driver_refusal_or(uint64_t address, CUresult otherwise)
{
    CUresult refusal = sl_driver_refusal(address);
    return refusal == CUDA_SUCCESS ? otherwise : refusal;
}
