#include "driver_status.h"

#include "device/cuda_call.h"
#include "driver.h"
#include "session.h"

/* The driver answers whether a stream captures without asking the device, and no capture forbids the
 * question; but like every call it returns the lasting error of its context. */
static CUresult fault_of(uint64_t address)
{
    CUstream own = sl_session_own_stream(address);
    CUstreamCaptureStatus status;
    CUresult result = own ? sl_driver_functions()->stream_is_capturing(own, &status) : CUDA_SUCCESS;
    return sl_cuda_error_lasts(result) ? result : CUDA_SUCCESS;
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
