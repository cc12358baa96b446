#include "device/cuda_call.h"

#include <stdatomic.h>

#include "base/log.h"

static _Atomic bool several; /* more than one backend exists, or existed */

bool sl_cuda_error_lasts(CUresult result)
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

enum sl_status sl_cuda_judge(const struct sl_cuda_driver *driver, CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return SL_OK;
    const char *name = NULL;
    if (driver->get_error_name(result, &name) != CUDA_SUCCESS || !name) name = "unknown error";
    if (sl_cuda_error_lasts(result)) {
        sl_log(SL_LOG_DEBUG, "%s: %s", what, name);
        return SL_ERR_LOST;
    }
    static _Atomic bool said; /* one warning is enough of a driver that refuses often */
    bool again = atomic_exchange_explicit(&said, true, memory_order_relaxed);
    sl_log(again ? SL_LOG_INFO : SL_LOG_WARN, "%s: %s", what, name);
    return result == CUDA_ERROR_OUT_OF_MEMORY ? SL_ERR_NO_MEMORY : SL_ERR_DRIVER;
}

/* A call that fails may have set the mode all the same: then the next one returns it. */
CUresult sl_cuda_set_capture_mode(const struct sl_cuda_driver *driver, CUstreamCaptureMode mode,
                                  CUstreamCaptureMode *before)
{
    CUstreamCaptureMode earlier = mode;
    CUresult result = CUDA_ERROR_UNKNOWN;
    for (int t = 0; t < SL_CUDA_TRIES && result != CUDA_SUCCESS && !sl_cuda_error_lasts(result); t++) {
        CUstreamCaptureMode exchanged = mode;
        result = driver->stream_exchange_capture_mode(&exchanged);
        if (exchanged != mode) earlier = exchanged;
    }
    if (result == CUDA_SUCCESS) *before = earlier;
    return result;
}

void sl_cuda_are_several(void)
{
    atomic_store(&several, true);
}

static struct sl_answer is_current(const struct sl_cuda *cuda)
{
    CUcontext current = NULL;
    if (cuda->driver->ctx_get_current(&current) != CUDA_SUCCESS) return sl_no_answer();
    return sl_answer_of(current == cuda->context);
}

enum sl_cuda_entry sl_cuda_enter(const struct sl_cuda *cuda)
{
    if (!atomic_load_explicit(&several, memory_order_relaxed) || sl_is_yes(is_current(cuda)))
        return SL_CUDA_STAYED;
    for (int t = 0; t < SL_CUDA_TRIES; t++)
        if (SL_UNCANCELLED(cuda->driver->ctx_push_current(cuda->context)) == CUDA_SUCCESS ||
            sl_is_yes(is_current(cuda)))
            return SL_CUDA_ENTERED;
    return SL_CUDA_REFUSED;
}

enum sl_cuda_entry sl_cuda_enter_for(const struct sl_cuda *cuda, CUstream stream)
{
    return (uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD ? sl_cuda_enter(cuda) : SL_CUDA_STAYED;
}

void sl_cuda_leave(const struct sl_cuda *cuda, enum sl_cuda_entry entry)
{
    CUcontext popped;
    for (int t = 0; t < SL_CUDA_TRIES && entry == SL_CUDA_ENTERED; t++)
        if (SL_UNCANCELLED(cuda->driver->ctx_pop_current(&popped)) == CUDA_SUCCESS ||
            sl_is_no(is_current(cuda)))
            return;
}

/* Whether another call would be answered in the same way. */
static bool is_final(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
        return true;
    default:
        return false;
    }
}

struct sl_answer sl_cuda_capturing(const struct sl_cuda_driver *driver, CUstream stream, CUresult *refused)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = driver->stream_is_capturing(stream, &status);
    for (int t = 1; t < SL_CUDA_TRIES && !is_final(result); t++)
        result = t % 2 && driver->stream_get_capture_info
                     ? driver->stream_get_capture_info(stream, &status, NULL, NULL, NULL, NULL)
                     : driver->stream_is_capturing(stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return sl_answer_of(true);
    if (result != CUDA_SUCCESS) {
        if (refused) *refused = result;
        return sl_no_answer();
    }
    return sl_answer_of(status != CU_STREAM_CAPTURE_STATUS_NONE);
}
